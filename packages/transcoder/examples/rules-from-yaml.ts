import { createTranscoder, type Transcoder, type TranscoderOptions } from '@route-registry/transcoder';
import { parse } from 'yaml';

/** The part of a service's YAML file (`google.api.Service`) that binds its methods to HTTP. */
interface ServiceYaml {
  readonly http: { readonly rules: NonNullable<TranscoderOptions['rules']> };
}

/** A transcoder whose HTTP rules are in a YAML file beside the contract; those of mixins that it lacks are left out. */
export function withRulesOf(yaml: string, options: TranscoderOptions): Transcoder {
  const { http } = parse(yaml) as ServiceYaml;
  return createTranscoder({ ...options, rules: http.rules, unsupported: 'skip' });
}
