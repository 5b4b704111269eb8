import type { Transcoder } from '@route-registry/transcoder';
import { type FastifyInstance, fastify } from 'fastify';

/** The methods of rules; a plugin for CORS answers OPTIONS. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Serves a contract behind the plugins of Fastify, whose headers its responses keep. */
export function withFastify(
  { handler }: Transcoder,
  plugins: (app: FastifyInstance) => void,
): FastifyInstance {
  const app = fastify();
  plugins(app);
  app.register((scope, _options, done) => {
    // The transcoder reads the bodies.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, parsed) => {
      parsed(null);
    });
    scope.route({
      method: METHODS,
      url: '/*',
      handler(request, reply) {
        reply.hijack();
        for (const [name, value] of Object.entries(reply.getHeaders()))
          if (value !== undefined) reply.raw.setHeader(name, value);
        handler(request.raw, reply.raw);
      },
    });
    done();
  });
  return app;
}
