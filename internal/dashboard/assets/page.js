// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Keeps the page up to date. Without it the page is what it was when it was loaded.
"use strict";
(() => {
  const state = document.getElementById("state");
  let stream = null, loading = false, again = false, missed = false;

  const say = (words, kind) => {
    if (!state) return;
    state.textContent = words;
    state.className = "state-word " + kind;
  };
  // What the operator shows may be old though the operator answers: then it says so.
  const tell = (page) => {
    if (page.dataset.away) say("Not live: the operator does not hear from the API server", "lost");
    else say("Live · " + clock(new Date()), "live");
  };
  const clock = (date) => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

  // Times grow old while nothing changes. The words are those of the server (relative in pages.go).
  const span = (seconds) => {
    if (seconds < 60) return Math.floor(seconds) + " s";
    if (seconds < 3600) return Math.floor(seconds / 60) + " min";
    if (seconds < 172800) return Math.floor(seconds / 3600) + " h";
    return Math.floor(seconds / 86400) + " d";
  };
  // The clock of this machine may be wrong: ages are by that of the operator, as it was when the page was made.
  let ahead = 0;
  const setClock = () => {
    const now = Date.parse(document.getElementById("live").dataset.now);
    if (now) ahead = Date.now() - now;
  };
  const age = () => {
    for (const time of document.querySelectorAll("#live time")) {
      const ago = (Date.now() - ahead - Date.parse(time.dateTime)) / 1000;
      time.textContent = ago < -1 ? "in " + span(-ago) : ago < 2 ? "now" : span(ago) + " ago";
    }
  };

  // What has the focus, is open or is being typed into stays so.
  const keyOf = (element) => element && (element.id ? "#" + CSS.escape(element.id) : element.dataset && element.dataset.key ? `[data-key="${CSS.escape(element.dataset.key)}"]` : "");
  const busy = () => {
    const at = document.activeElement;
    return at && at.closest("#live") && at.matches("input:not([type=hidden]), select");
  };
  const replace = (fresh) => {
    const live = document.getElementById("live");
    const known = new Set([...live.querySelectorAll("[data-key]")].map((row) => row.dataset.key + row.querySelector(".phase, .health")?.textContent));
    const focused = live.contains(document.activeElement) ? keyOf(document.activeElement) : "";
    const open = [...live.querySelectorAll("details")].map((details) => details.open);
    live.replaceChildren(...fresh.childNodes);
    for (const name of ["version", "now", "away"]) {
      if (fresh.dataset[name]) live.dataset[name] = fresh.dataset[name];
      else delete live.dataset[name];
    }
    setClock();
    live.querySelectorAll("details").forEach((details, i) => { details.open = open[i] || details.open; });
    for (const row of live.querySelectorAll("[data-key]")) {
      if (!known.has(row.dataset.key + row.querySelector(".phase, .health")?.textContent)) row.classList.add("changed");
    }
    if (focused) live.querySelector(focused)?.focus({ preventScroll: true });
    prepare();
  };

  const load = async () => {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const address = new URL(location.href);
      address.searchParams.delete("did");
      const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
      if (answer.status === 401) { location.reload(); return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
      missed = busy();
      if (fresh && fresh.dataset.version && !missed) replace(fresh);
      if (answer.ok) tell(fresh);
      else if (answer.status === 404) say("It is not there any more", "lost");
      else say("Not live: the operator answers " + answer.status, "lost");
    } catch {
      say("Not live: the operator does not answer", "lost");
    } finally {
      loading = false;
      if (again) { again = false; load(); }
    }
  };

  const listen = () => {
    if (stream || !document.getElementById("live").dataset.version) return;
    stream = new EventSource("/events");
    stream.addEventListener("version", (event) => {
      if (event.data !== document.getElementById("live").dataset.version) load();
      else tell(document.getElementById("live"));
    });
    stream.onerror = () => {
      // The browser tries again by itself, unless it was refused: all places are taken, or the token has expired.
      if (stream && stream.readyState === EventSource.CLOSED) {
        stream = null;
        say("Not live: load the page again to see what has changed", "lost");
        setTimeout(() => { if (!document.hidden) listen(); }, 30000);
      } else {
        say("Not live: trying to reach the operator", "lost");
      }
    };
  };
  const hush = () => { stream?.close(); stream = null; };

  const prepare = () => {
    age();
    for (const button of document.querySelectorAll("button.copy")) {
      if (!navigator.clipboard || button.onclick) continue;
      button.hidden = false;
      button.onclick = async () => {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      };
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const search = document.getElementById("search");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
  document.addEventListener("focusout", () => { if (missed) setTimeout(load); });
  // A browser keeps six connections to a host open at most: tabs that nobody sees give theirs back.
  document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
  addEventListener("pagehide", hush);
  addEventListener("pageshow", () => { if (!document.hidden) listen(); });

  setClock();
  prepare();
  setInterval(age, 10000);
  if (!document.hidden) listen();
})();
