import { SETTINGS } from './table.js';

/**
 * The first words of the settings that must not be misspelled: the service would accept other tokens, run without TLS,
 * or allow duplicate routes.
 */
const STRICT = /^(?:JWT|TLS|DUPLICATE)_/;
/** What Kubernetes sets in every container for each of its services, which may be called `tls`. */
const OF_KUBERNETES = /_SERVICE_HOST$|_PORT(?:_|$)/;
/** What other software in this process reads: OpenTelemetry's SDK, grpc-js, and whatever respects proxies. */
const OF_OTHERS = /^(?:OTEL_|HTTP_PROXY$|GRPC_(?:DEFAULT|EXPERIMENTAL|NODE|SSL|TRACE|VERBOSITY))/;

/** The variables that begin like a setting but have no effect. An empty variable counts as unset. */
export function unknownSettings(env: NodeJS.ProcessEnv): string[] {
  const firstWords = new Set(Object.keys(SETTINGS).map(firstWordOf));
  return Object.keys(env).filter((name) => {
    if (name in SETTINGS || env[name] === '' || OF_KUBERNETES.test(name) || OF_OTHERS.test(name))
      return false;
    return name.includes('_') && firstWords.has(firstWordOf(name));
  });
}

/** The problems of the unknown variables that must not be a misspelled setting, each a sentence. */
export function misspelledSettings(env: NodeJS.ProcessEnv): string[] {
  const strict = unknownSettings(env).filter((name) => STRICT.test(name));
  return strict.map((name) => {
    const word = firstWordOf(name);
    const known = Object.keys(SETTINGS).filter((setting) => firstWordOf(setting) === word);
    return `${name} is not a setting. Those that begin with ${word}_ are ${known.join(', ')}.`;
  });
}

function firstWordOf(name: string): string {
  return name.split('_', 1)[0] ?? '';
}
