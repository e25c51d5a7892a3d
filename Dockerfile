# A Hone in a container: docs/guides/deploy.md says how it is run.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY . .
# The package as every user has it, with the runtime for this platform alone.
RUN npm run pack -- --this-platform --to /packed
RUN npm install --prefix /app --no-audit --no-fund /packed/hone-server-*.tgz

FROM ${NODE_IMAGE}
# Nothing is installed from here on, and nobody needs what does that.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn* \
  && install --directory --owner=node --group=node --mode=0700 /data
COPY --from=build /app /app
ENV NODE_ENV=production
ENV PATH=/app/node_modules/.bin:${PATH}
ENV HONE_HOST=0.0.0.0
ENV HONE_DATA=/data
# Compiled functions of the bundle (docs/decisions/bundle.md), since the server can write only to /data.
ENV XDG_CACHE_HOME=/data/.cache
WORKDIR /data
USER node
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HONE_PORT ?? 8000}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["hone"]
CMD ["serve"]
