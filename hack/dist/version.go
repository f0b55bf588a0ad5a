// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// version is what a release is called: by people, as given; and as Helm and krew need it.
type version struct {
	given string
	// semantic is it as a semantic version (https://semver.org), without a v. What is given by a commit alone is before all others.
	semantic string
}

var (
	semantic = regexp.MustCompile(`^v?((?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)` +
		`(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?)$`)
	// tag is what a tag of an image may be (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests).
	tag    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	unsafe = regexp.MustCompile(`[^0-9A-Za-z-]+`)
)

func parseVersion(given string) (version, error) {
	if !tag.MatchString(given) {
		return version{}, fmt.Errorf("--version %q cannot be the tag of an image: give one such as v1.2.3", given)
	}
	if match := semantic.FindStringSubmatch(given); match != nil {
		return version{given, match[1]}, nil
	}
	// A letter before it, because a number must not begin with 0.
	return version{given, "0.0.0-dev.g" + strings.Trim(unsafe.ReplaceAllString(given, "-"), "-")}, nil
}
