// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Variables of the environment (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/) that are looked at here; the libraries look at the others.
const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	envTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envSampler        = "OTEL_TRACES_SAMPLER"
	envSamplerArg     = "OTEL_TRACES_SAMPLER_ARG"
)

// named reports whether somebody has named a collector, and has not turned the traces off.
func (c Config) named() (bool, error) {
	if strings.EqualFold(os.Getenv(envDisabled), "true") || strings.EqualFold(os.Getenv(envExporter), "none") {
		return false, nil
	}
	for _, from := range []struct{ name, value string }{
		{"--otlp-endpoint", c.Endpoint}, {envTracesEndpoint, os.Getenv(envTracesEndpoint)}, {envEndpoint, os.Getenv(envEndpoint)},
	} {
		if from.value != "" {
			return true, checkEndpoint(from.name, from.value)
		}
	}
	return false, nil
}

// checkEndpoint returns why a URL is not that of a collector. It does not repeat the URL, in which there may be a password.
func checkEndpoint(name, text string) error {
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Hostname() == "":
		return fmt.Errorf("%s must be a full http:// or https:// URL of a collector, such as http://collector.observability:4318", name)
	case address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return fmt.Errorf("%s must have no user, query or fragment: put what the collector knows you by into %s", name, envHeaders)
	}
	return nil
}

// checkEnvironment returns what in the environment is not as it has to be, where the libraries would go on with something else.
func checkEnvironment() error {
	switch protocol := cmp.Or(os.Getenv(envTracesProtocol), os.Getenv(envProtocol)); protocol {
	case "", "http/protobuf", "http/json":
	default:
		return fmt.Errorf("%s must be http/protobuf or http/json, and the endpoint that of the collector for HTTP, at port 4318 as a rule", envProtocol)
	}
	known := []string{"", "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}
	sampler := strings.ToLower(strings.TrimSpace(os.Getenv(envSampler)))
	if !slices.Contains(known, sampler) {
		return fmt.Errorf("%s must be one of %s", envSampler, strings.Join(known[1:], ", "))
	}
	if share := strings.TrimSpace(os.Getenv(envSamplerArg)); share != "" && strings.HasSuffix(sampler, "traceidratio") {
		if ratio, err := strconv.ParseFloat(share, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return errors.New(envSamplerArg + " must be the share of attempts that are traced, from 0 to 1, such as 0.1")
		}
	}
	return nil
}

// Secrets are what the environment has the collector sent as headers.
func Secrets() (values []string) {
	for _, name := range []string{envHeaders, envTracesHeaders} {
		for header := range strings.SplitSeq(os.Getenv(name), ",") {
			_, value, _ := strings.Cut(header, "=")
			values = append(values, strings.TrimSpace(value))
			if plain, err := url.PathUnescape(value); err == nil {
				values = append(values, strings.TrimSpace(plain))
			}
		}
	}
	return slices.DeleteFunc(values, func(value string) bool { return value == "" })
}
