# The book on a bare machine: `docker build --output book-html .` leaves the HTML in book-html.
# The tag moves: whoever needs the same bytes again puts `@sha256:` and its digest behind it.
FROM python:3.12-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends make git \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /book
COPY . .
RUN make book

FROM scratch
COPY --from=build /book/_build/html /
