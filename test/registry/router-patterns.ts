/** Patterns as the documentation of each router teaches to write them: one of each kind. */
const ROUTER_PATTERNS: Readonly<Record<string, readonly string[]>> = {
  'Express 4': [
    ...['/', '/contact', '/robots.txt', '/colou?r', '/go+gle', '/log*txt', '/ship(ment)?s'],
    ...['/shops/:shopId/items/:itemId', '/trains/:from-:to', '/birds/:genus.:species'],
    ...[String.raw`/invoices/:year(\d{4})`, String.raw`/thumb-:size(\d+)x:scale(\d+).png`],
    ...['/:lang(en|de)/help', '/:page?', '/:entity-type/:entity-id', '/feeds/:name.:format?'],
    ...['/(small-)?logo.svg', '/static/*', '/download/:file(*)', '/diff/:from..:to'],
    ...[String.raw`/(\d+)/raw`],
  ],
  'Express 5': [
    ...['/assets/*file', '/{*all}', '/:name{.:extension}', '/teams{/:team}/members'],
    ...['/docs{/:version}{/:page}', '/mirror/*host/tree/*path', '/x{-:suffix{.:part}}'],
    ...[String.raw`/calc\(:left\+:right\)`, String.raw`/why\?`, '/{:locale/}home', '/search/:term/'],
    ...['/:"user-id"/posts', '/:$id'],
  ],
  'Fastify (find-my-way)': [
    ...['/api/:tenant/:secret', '/public/*', '/near/:lat-:lng/within/:meters'],
    ...[String.raw`/clock/:hour(^\d{2})h:minute(^\d{2})m`, String.raw`/image/:id(^\d+).png`],
    ...['/news/:slug?', '/accounts::close', '/::beta/:id', String.raw`/hash/:sum(^[a-f0-9]{6}\(v2\)$)`],
    ...['/:first/second/:third', '/pair/:left.:right', '/pre:fix/tail', '/:id/:id'],
  ],
  Hono: [
    ...['/account/:name', '/api/pets/:kind?', '/diary/:day{[0-9]+}/:mood{[a-z]+}'],
    ...[String.raw`/media/:file{.+\.jpg}`, '/any/*/card', '/*', '/code/:iso{[A-Z]{2}}', '/rest/:path{.*}'],
    ...['/a/:b/c/:d', '/version/:v{v[0-9]+}/:tail{.+$}', '/color/:hex{(?:[0-9a-f]{3}){1,2}}'],
    ...['/until/:id{[^}]+}'],
  ],
  'Koa router': [
    ...['/:category/:title', String.raw`/page/:number(\d+)`, '/member(s)?/:id', '/(.*)', '/chain/:part*'],
    ...['/chain/:part+', '/:one?{-:two}?{-:three}?', '/shop{/:aisle}?', '/:file{.:ext}?', '/@:handle'],
    ...['/lang/:code(en|fr)?'],
  ],
  gin: [
    ...['/members/:name', '/members/:name/*action', '/src/*filepath', '/report/:year/:month', '/con:tact'],
    ...[String.raw`/jobs/run\:now`, '/health', '/v1/tenants/:tenant/users/:user/keys', '/*any'],
    ...['/find/:query', '/login/:2fa'],
  ],
  Echo: [
    ...['/customers/:id', '/customers/new', '/customers/1/files/*', '/customers/:id/orders/:order'],
    ...['/images*', '/a/:b/c/:d/*', String.raw`/v2/disks/main\:resize`, '/group/:gid/member/:mid', '/*'],
    ...['/reports/:name/download/'],
  ],
  Fiber: [
    ...['/routes/:from-:to', '/trees/:genus.:species', '/hello/:name?', '/wild/+', '/api/*'],
    ...['/v1/*/basket/*', '/:sign:number', '/shop/size::size/color::color'],
    ...[String.raw`/v1/tables/main\:truncate`, '/age/:years<int>', '/age/:years<min(18)>'],
    ...['/age/:years<range(18,99)>?', '/code/:code<len(4);alpha>'],
    ...[String.raw`/on/:day<datetime(2006\-01\-02)>`, String.raw`/on/:day<regex(\d{4}-\d{2}-\d{2})>`],
    ...[String.raw`/named/:x<regex((?P<y>\d+))>`, '/till/:x<regex(^[^>]+$)>', '/:1/:2'],
  ],
  Rails: [
    ...['/albums/:id', '/albums/:id/tracks/:track_id', '/albums(/:id)(.:format)'],
    ...['/:controller(/:action(/:id))', '/:locale/authors', '/files/*path', '/books/*shelf/:title'],
    ...['/*before/with/*after', '/pages/*slug(.:format)', '/:year(-:month(-:day))'],
    ...['/(:locale)/goods/(:kind)/(page/:page).:extension', '/(search)/:term', '/albums/:id.:format'],
    ...['/help(/*topic)'],
  ],
  Sinatra: [
    ...['/greet/:name', '/tell/*/about/*', '/fetch/*.*', '/jobs.?:format?', '/:id/?', '/:file(.:ext)?'],
    ...['/?:lang?', '/letters/(alpha|beta)', '/(v:major)?/status', '/:user/*rest'],
    ...[String.raw`/price/\(net\)`, '/:from/to/:to/?:via?'],
  ],
  'Vue Router': [
    ...['/users/:username/posts/:postId', String.raw`/:orderId(\d+)`, '/:productName', '/:chapters+'],
    ...['/:chapters*', String.raw`/:chapters(\d+)+`, String.raw`/:chapters(\d+)*`, '/users/:userId?'],
    ...[String.raw`/users/:userId(\d+)?`, '/:pathMatch(.*)*', '/user-:afterUser(.*)'],
    ...['/:lang([a-z]{2})?/about', String.raw`/gallery/:photo([^/]+\.(?:png|webp))`, '/x/:a-:b/y'],
  ],
};

/** Each pattern with its router. */
export const EVERY_ROUTER_PATTERN = Object.entries(ROUTER_PATTERNS).flatMap(([router, patterns]) =>
  patterns.map((path) => ({ router, path })),
);
