// The settings of jobs as the server's API document describes them: names, descriptions, limits and defaults. Pure.
import type { JobKind } from "./settings.ts";

/** A setting of a job, and the input that it needs in a form. */
export interface ApiSetting {
  readonly name: string;
  readonly description: string;
  readonly input: NumberInput | { readonly kind: "choice"; readonly choices: readonly (boolean | string)[] };
  /** The default, as a text. Empty if the document has none. */
  readonly usual: string;
}

interface NumberInput {
  readonly kind: "number";
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly isWhole: boolean;
}

/** Path and field of the document that describe the settings of each kind of job. */
const placeOf: { readonly [Kind in JobKind]: readonly [path: string, field: string] } = {
  rl: ["/v1/preview/training-jobs", "experimental_config"],
  sft: ["/v1/preview/sft-training-jobs", "config"],
  preference: ["/v1/preview/preference-training-jobs", "config"],
};

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly description?: string;
  readonly default?: unknown;
  readonly "x-default"?: string;
}

/** The parts of an OpenAPI document that this module reads. */
export interface ApiDocument {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly post?: {
          readonly requestBody?: {
            readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
          };
        };
      }
    >
  >;
}

/**
 * Returns the settings of a kind of job, without aliases, and without settings that the server refuses or ignores.
 *
 * @param offered names of settings that the form shows anyway
 */
export function apiSettings(
  document: ApiDocument,
  kind: JobKind,
  offered: ReadonlySet<string>,
): readonly ApiSetting[] {
  const [path, field] = placeOf[kind];
  const body = document.paths[path]?.post?.requestBody?.content["application/json"]?.schema;
  const config = formsOf(body?.properties?.[field] ?? {}).find(({ properties }) => properties !== undefined);
  return Object.entries(config?.properties ?? {}).flatMap(([name, schema]) => {
    const { description = "" } = schema;
    const input = formsOf(schema)
      .map(inputOf)
      .find((one) => one !== null);
    if (input === undefined || offered.has(name) || description.startsWith("Alias of")) return [];
    const usual = schema["x-default"] ?? textOf(schema.default);
    return [{ name, description, input, usual }];
  });
}

/** Returns the text of a default; empty if there is none. */
function textOf(value: unknown): string {
  return value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns the alternatives of a schema. */
function formsOf(schema: Schema): readonly Schema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(formsOf);
}

function inputOf(schema: Schema): ApiSetting["input"] | null {
  const { type, minimum: min, maximum: max } = schema;
  if (type === "boolean") return { kind: "choice", choices: [true, false] };
  if (type === "number" || type === "integer")
    return { kind: "number", min, max, isWhole: type === "integer" };
  const choices = (schema.enum ?? []).filter((one) => typeof one === "string");
  return choices.length === 0 ? null : { kind: "choice", choices };
}
