import type { Transcoder } from '@route-registry/transcoder';
import { type FastifyInstance, fastify } from 'fastify';

/** The methods of rules; a plugin for CORS answers OPTIONS. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Serves a contract under its base path, behind the plugins of Fastify, whose headers its responses keep. */
export function withFastify(
  { handler: transcode }: Transcoder,
  plugins: (app: FastifyInstance) => void,
  basePath = '',
): FastifyInstance {
  const app = fastify();
  plugins(app);
  app.register(
    (scope, _options, done) => {
      // The transcoder reads the bodies.
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _body, parsed) => {
        parsed(null);
      });
      scope.route({
        method: METHODS,
        url: '/*',
        handler(request, reply) {
          for (const [name, value] of Object.entries(reply.getHeaders()))
            if (value !== undefined) reply.raw.setHeader(name, value);
          let unknown = false as boolean;
          transcode(request.raw, reply.raw, () => {
            unknown = true;
          });
          if (unknown) reply.callNotFound();
          else reply.hijack();
        },
      });
      done();
    },
    { prefix: basePath },
  );
  return app;
}
