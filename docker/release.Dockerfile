# The image of a release: goreleaser puts the binary of each platform beside this file.
FROM gcr.io/distroless/static-debian12:nonroot
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/engine /engine
ENTRYPOINT ["/engine"]
CMD ["serve"]
