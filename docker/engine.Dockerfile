# The engine as one static binary, in an image with CA certificates and nothing else.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY docs docs
COPY internal internal
COPY migrations migrations
COPY sql sql
# What runs on hosts is built into the engine.
RUN for arch in amd64 arm64; do CGO_ENABLED=0 GOARCH=$arch go build -trimpath -buildvcs=false -ldflags "-s -w" -o /runner ./cmd/runner && gzip -9 -n -c /runner > internal/hosts/embedded/runner-linux-$arch.gz || exit 1; done
ARG VERSION=dev
ARG COMMIT=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -gcflags=github.com/aws/aws-sdk-go-v2/service/...=-l -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o /engine ./cmd/engine

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /engine /engine
EXPOSE 8787
ENTRYPOINT ["/engine"]
CMD ["serve"]
