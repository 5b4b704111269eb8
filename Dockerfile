FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY packages/transcoder/package.json packages/transcoder/
COPY packages/client/package.json packages/client/
RUN --mount=type=cache,target=/root/.npm npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY packages ./packages
COPY src ./src
# Not `npm run build`, which also builds the client.
RUN npx tsc --build tsconfig.build.json

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY packages/transcoder/package.json packages/transcoder/
COPY packages/client/package.json packages/client/
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev
COPY --from=build /app/packages/transcoder/dist ./packages/transcoder/dist
COPY --from=build /app/dist ./dist

# The program is read-only. The embedded database and the secret of the local mode go to data, and a volume mounted
# there takes over its owner. No VOLUME: every container on MySQL would get one, too, and leave it empty.
RUN install --directory --owner=node --group=node data
USER node

# A container's loopback interface cannot be reached from outside. The published ports decide who may call; 9464 is for
# operators alone.
ENV GRPC_ADDRESS=0.0.0.0:50051 HTTP_ADDRESS=0.0.0.0:8080 OPS_ADDRESS=0.0.0.0:9464
EXPOSE 50051 8080 9464

HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "dist/health-probe.js"]

CMD ["node", "dist/main.js"]
