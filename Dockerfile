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
# COPY keeps the modes of a clone, which its umask may have closed to the user below.
RUN --mount=type=cache,target=/root/.npm chmod -R a+rX . && npm ci --omit=dev
COPY --from=build /app/packages/transcoder/dist ./packages/transcoder/dist
COPY --from=build /app/dist ./dist

# The program is read-only. The embedded database and the secret of the local mode go to data, and a volume mounted
# there takes over its owner. No VOLUME: every container on MySQL would get one, too, and leave it empty.
RUN install --directory --owner=node --group=node data
USER node

# A container's loopback interface cannot be reached from outside, and a pod may have IPv6 alone. The published ports decide
# who may call; 9464 is for operators alone.
ENV GRPC_ADDRESS=[::]:50051 HTTP_ADDRESS=[::]:8080 OPS_ADDRESS=[::]:9464
EXPOSE 50051 8080 9464

# In every role. Without an agent, which could ask a proxy.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "-e", "require('http').get({ port: process.env.OPS_ADDRESS.split(':').pop(), path: '/livez', agent: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))"]

CMD ["node", "dist/main.js"]
