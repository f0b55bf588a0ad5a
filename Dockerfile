# syntax=docker/dockerfile:1
# Copyright The feed-operator Authors.
# SPDX-License-Identifier: Apache-2.0

# The compiler runs on the machine's own platform and cross-compiles, which is much quicker than
# an emulated one.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ENV GOCACHE=/cache
WORKDIR /src

COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download

COPY . .
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/cache \
    CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags="-s -w -X main.version=${VERSION}" -o /out/manager ./cmd/manager

FROM gcr.io/distroless/static:nonroot
LABEL org.opencontainers.image.title="feed-operator" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/manager /manager
# The number, not the name: Kubernetes can only tell from a number that it is not root.
USER 65532:65532
ENTRYPOINT ["/manager"]
