import { readFileSync } from 'node:fs';
import { join } from 'node:path';
// @ts-expect-error -- It has no types.
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { COMPACT_STYLE, FOLD_RESPONSES } from './compact-page.js';
import type { Page } from './static-page.js';

/** Allows only resources of the same origin, and `data:` images; no inline code and no framing. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** The page. Its links are relative, so that it works under any base path and behind any proxy's prefix. */
const html = (title: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(title)}</title>
    <link rel="icon" type="image/png" href="docs/favicon.png">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/page.css">
    <script src="docs/swagger-ui.js" defer></script>
    <script src="docs/page.js" defer></script>
  </head>
  <body>
    <div id="page"></div>
    <noscript>This page needs JavaScript. The description itself is at <a href="openapi.json">openapi.json</a>.</noscript>
  </body>
</html>
`;

const SCRIPT = `'use strict';
${FOLD_RESPONSES}
const dark = matchMedia('(prefers-color-scheme: dark)');
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', paint);
paint();

// Swagger UI escapes the slashes within a path parameter, also where it takes several segments. A path has at most one
// such parameter.
const withSlashes = (url, template, parameters) => {
  const parameter = parameters.find((each) => each['x-multi-segment']);
  if (parameter === undefined) return url;

  const [path, ...query] = url.split('?');
  const sent = path.split('/');
  const segments = template.split('/');
  const index = segments.findIndex((segment) => segment.includes('{' + parameter.name + '}'));
  // The template lacks what comes before it: the origin and the base path.
  const place = sent.length - segments.length + index;
  sent[place] = sent[place].replaceAll('%2F', '/');
  return [sent.join('/'), ...query].join('?');
};

const keepingSlashes = ({ fn: { execute } }) => ({
  fn: {
    execute: (call) => {
      const { parameters } = call.operation.toJS();
      const requestInterceptor = (request) => {
        const url = withSlashes(request.url, call.pathName, parameters);
        return call.requestInterceptor({ ...request, url });
      };
      return execute({ ...call, requestInterceptor });
    },
  },
});

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#page',
  validatorUrl: null,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  syntaxHighlight: { theme: 'nord' },
  plugins: [keepingSlashes, foldResponses],
});
`;

// Names and reasons stay whole: they wrap between words, and lines of code scroll (Swagger UI sets the wrapping and the
// padding of code inline). On a phone, parameters and responses have the full width. The column of links is hidden, since
// no operation has links, and the list of servers, unless there is a choice. Swagger UI's dark mode does not style the
// label of examples.
const STYLE = `body { margin: 0; background: #fafafa; }
html.dark-mode body { background: #1c2022; }
html.dark-mode .swagger-ui .examples-select__section-label { color: #e4e6e6; }
.swagger-ui .info { margin: 30px 0; }
.swagger-ui .response-col_links { display: none !important; }
.swagger-ui .schemes-server-container > :not(:has(option + option, table)) { display: none; }
.swagger-ui .responses-inner { overflow-x: auto; }
.swagger-ui .wrapper, .swagger-ui .opblock-body { overflow-wrap: break-word; }
.swagger-ui .parameters-col_name, .swagger-ui .response-col_status { white-space: nowrap; }
.swagger-ui .highlight-code pre { padding-bottom: 48px !important; }
.swagger-ui .responses-wrapper pre, .swagger-ui .responses-wrapper pre * { white-space: pre !important; overflow-wrap: normal !important; word-break: normal !important; overflow-x: auto; }
${COMPACT_STYLE}@media (max-width: 640px) {
  .swagger-ui thead { display: none; }
  .swagger-ui table.parameters, .swagger-ui table.parameters :is(tbody, tr, td), .swagger-ui table.responses-table, .swagger-ui table.responses-table :is(tbody, tr, td) { display: block; width: 100%; }
  .swagger-ui table tbody tr td:is(.parameters-col_name, .parameters-col_description, .response-col_status, .response-col_description) { padding: 2px 0; margin: 0; }
  .swagger-ui table tbody tr td:is(.parameters-col_name, .response-col_status) { padding-top: 8px; font-weight: 700; }
  .swagger-ui .parameters-col_name > div { display: inline; margin-right: 8px; }
  .swagger-ui .renderedMarkdown p, .swagger-ui .renderedMarkdown code { font-size: 12px; margin: 0 auto; }
  .swagger-ui .renderedMarkdown code { padding: 1px 3px; }
  .swagger-ui .opblock-body input[type=text], .swagger-ui .opblock-body select { margin: 2px 0; padding: 4px 8px; max-width: none; }
  .swagger-ui .opblock-body select { padding-right: 32px; }
  .swagger-ui textarea.body-param__text { min-height: 170px; }
}
`;

/** The page at `/docs` and its assets: Swagger UI, its start script and styles. */
export function swaggerUi(title: () => string): Page[] {
  return [
    {
      ...page('/docs', 'text/html; charset=utf-8', () => html(title())),
      name: 'docs',
      headers: { ...HEADERS, 'Content-Security-Policy': CONTENT_SECURITY_POLICY },
    },
    page('/docs/page.js', 'text/javascript; charset=utf-8', () => SCRIPT),
    page('/docs/page.css', 'text/css; charset=utf-8', () => STYLE),
    {
      ...asset('/docs/swagger-ui.js', 'text/javascript; charset=utf-8', 'swagger-ui-bundle.js'),
      compressed: true,
    },
    { ...asset('/docs/swagger-ui.css', 'text/css; charset=utf-8', 'swagger-ui.css'), compressed: true },
    asset('/docs/favicon.png', 'image/png', 'favicon-32x32.png'),
  ];
}

function page(path: string, contentType: string, text: () => string): Page {
  return { path, contentType, body: () => Buffer.from(text()), headers: HEADERS };
}

function asset(path: string, contentType: string, file: string): Page {
  // Read at the start, so that a missing file is known then.
  const content = readFileSync(join((absolutePath as () => string)(), file));
  return { path, contentType, body: () => content, headers: HEADERS };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}
