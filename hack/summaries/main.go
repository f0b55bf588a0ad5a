// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command summaries puts the built-in summarizer beside the plain beginning of an article, on pages of our own
// writing, and reports which of the two was found better on reading. It writes docs/summaries.md.
//
// Each pair has a judgement in judgements.txt, which names the pair by what is in it: when a summary changes, its
// judgement does not count any more, and both have to be read again.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("out", "docs/summaries.md", "the file to write")
	flag.Parse()
	if err := run(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "summaries:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	pairs, err := compare(ctx)
	if err != nil {
		return err
	}
	known, err := judgements()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, []byte(report(pairs, known)), 0o600); err != nil {
		return err
	}
	for _, p := range pairs {
		if _, judged := known[p.name]; !judged || known[p.name].of != p.hash() {
			fmt.Printf("%s has not been judged yet, or has changed: read it in %s and write into hack/summaries/judgements.txt\n%s %s\n",
				p.name, out, p.name, p.hash())
		}
	}
	return nil
}
