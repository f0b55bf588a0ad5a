# Copyright The feed-operator Authors.
# SPDX-License-Identifier: Apache-2.0

# Images are named by digest, so that the same commit is built on the same ones: a tag is whatever its owner
# makes of it. docs/development.md says how to take newer ones.
#
# The compiler runs on the machine's own platform and cross-compiles, which is much quicker than
# an emulated one.
FROM --platform=$BUILDPLATFORM golang:1.26.8@sha256:3c3e25a4da13fd0478eed2df1eb35a0e667094a7124d3993a6a1d30f71c17e79 AS build
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

FROM gcr.io/distroless/static:nonroot@sha256:f7f8f729987ad0fdf6b05eeeae94b26e6a0f613bdf46feea7fc40f7bd72953e6
LABEL org.opencontainers.image.title="feed-operator" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/manager /manager
# The number, not the name: Kubernetes can only tell from a number that it is not root.
USER 65532:65532
ENTRYPOINT ["/manager"]
