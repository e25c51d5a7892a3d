// Writes src/apps/client/api.ts, which contains the client's types of all bodies, answers and operations. They are
// generated from the document at /openapi.json. Fields that the server always refuses are omitted.
import type {
  ApiDocument,
  Media,
  Operation,
  Parameter,
  Schema,
} from "../../src/api/http/testing/api-document.ts";
import { readApiDocument } from "./api-document.ts";

/** Returns the whole file for the routes of this build. */
export async function madeClientTypes(): Promise<string> {
  return clientTypes(await readApiDocument());
}

function clientTypes({ paths }: ApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
  const types = new Types(operations.map(({ operation }) => operation));
  const routes = operations.map(({ route, operation }) => operationText(route, operation, types));
  return `${head}\n${types.declarations()}\n/** Every operation, by its method and path. */\nexport interface Operations {\n${routes.join("\n")}\n}\n`;
}

const head = `// Every body and answer of the API as a type, and every operation. Written by each build from the schemas that check
// requests (scripts/client-api.js).
// oxlint-disable typescript/no-explicit-any

/** One page of a list. */
export type Page<Item> = {
  readonly object: "list";
  readonly data: readonly Item[];
  /** Id of the first item; empty if the page is empty. */
  readonly first_id: string;
  /** Cursor of the last item; pass it as \`after\` to get the next page. */
  readonly last_id: string;
  readonly has_more: boolean;
};
`;

const pageMembers = "object data first_id last_id has_more";

/** Titles of schemas that would shadow a type of the web platform or of this client. */
const taken: readonly string[] = ["Error", "File", "Model", "Response"];

/** Collects the types of schemas with a title, so that each is declared once. */
class Types {
  readonly #named = new Map<string, Schema>();
  /** Titled types that occur in a request body. Senders may add any members to them. */
  readonly #sent = new Set<string>();

  constructor(operations: readonly Operation[]) {
    for (const { requestBody } of operations)
      for (const { schema } of Object.values(requestBody?.content ?? {})) this.#visit(schema, true);
    for (const { responses } of operations)
      for (const { schema } of Object.values(responses["2XX"]?.content ?? {})) this.#visit(schema, false);
  }

  #visit(schema: Schema, isSent: boolean): void {
    const name = nameOf(schema);
    if (name !== null) {
      const known = this.#named.get(name);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
        throw new Error(`Two schemas have the title ${name}; give one of them another.`);
      if (known !== undefined && (!isSent || this.#sent.has(name))) return;
      this.#named.set(name, schema);
      if (isSent) this.#sent.add(name);
    }
    for (const inner of innerOf(schema)) this.#visit(inner, isSent);
  }

  declarations(): string {
    return [...this.#named]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, schema]) => {
        const type = this.#written(schema, { indent: "", isSent: this.#sent.has(name) });
        return `${comment(schema.description ?? "", "")}export type ${name} = ${type};\n`;
      })
      .join("\n");
  }

  /** Returns the type of a value that conforms to the schema. */
  text(schema: Schema, place: Place): string {
    return nameOf(schema) ?? this.#written(schema, place);
  }

  #written(schema: Schema, place: Place): string {
    const { anyOf, enum: values, items, type } = schema;
    if (anyOf !== undefined) {
      const texts = new Set(anyOf.map((one) => this.text(one, place)));
      // If one of the types is `unknown`, the others are redundant.
      return texts.has("unknown") ? "unknown" : [...texts].join(" | ");
    }
    if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ");
    if (type === "array") {
      const item = this.text(items ?? {}, place);
      return `readonly ${isUnion(items ?? {}) || item.startsWith("readonly ") ? `(${item})` : item}[]`;
    }
    if (type === "object") return this.#object(schema, place);
    return scalars[type ?? ""] ?? "unknown";
  }

  #object(schema: Schema, place: Place): string {
    const members = Object.entries(schema.properties ?? {}).filter(([, one]) => one["x-refused"] !== true);
    const data = schema.properties?.["data"]?.items;
    if (data !== undefined && members.map(([name]) => name).join(" ") === pageMembers)
      return `Page<${this.text(data, place)}>`;
    const others = othersOf(schema);
    const value = others === true ? (place.isSent ? "any" : "unknown") : others && this.text(others, place);
    if (members.length === 0) return `{ readonly [name: string]: ${value ?? "unknown"} }`;
    const indent = `${place.indent}  `;
    const lines = members.map(([name, member]) => {
      const mark = schema.required?.includes(name) === true ? "" : "?";
      const type = this.text(member, { ...place, indent });
      return `${comment(aboutOf(member), indent)}${indent}readonly ${keyOf(name)}${mark}: ${type};`;
    });
    const open = value === null ? [] : [`${indent}readonly [name: string]: ${value};`];
    return `{\n${[...lines, ...open].join("\n")}\n${place.indent}}`;
  }
}

interface Place {
  readonly indent: string;
  readonly isSent: boolean;
}

const scalars: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

/**
 * Returns the schema of members that an object's schema does not declare. True allows any such members; null allows
 * none.
 */
function othersOf({ additionalProperties, patternProperties }: Schema): Schema | true | null {
  if (typeof additionalProperties === "object") return additionalProperties;
  if (additionalProperties === true) return true;
  return Object.values(patternProperties ?? {})[0] ?? null;
}

/** Returns the title of an object or union if it can be the name of a type; otherwise null. */
function nameOf({ title = "", properties = {}, anyOf }: Schema): string | null {
  if (!/^[A-Z]\w*$/.test(title)) return null;
  if (anyOf === undefined && Object.keys(properties).length === 0) return null;
  return taken.includes(title) ? `${title}Object` : title;
}

function innerOf(schema: Schema): readonly Schema[] {
  const others = othersOf(schema);
  return [
    ...(schema.anyOf ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...Object.values(schema.properties ?? {}).filter((one) => one["x-refused"] !== true),
    ...(others === null || others === true ? [] : [others]),
  ];
}

function isUnion(schema: Schema): boolean {
  return nameOf(schema) === null && (schema.anyOf ?? schema.enum ?? []).length > 1;
}

function keyOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}

/** Returns a field's description and its default. */
function aboutOf(schema: Schema): string {
  const value = schema.default === undefined ? undefined : `\`${JSON.stringify(schema.default)}\``;
  const otherwise = schema["x-default"] ?? value;
  return [schema.description ?? "", otherwise === undefined ? "" : `Default: ${otherwise}.`]
    .filter(Boolean)
    .join(" ");
}

const columnMax = 110;

function comment(text: string, indent: string): string {
  if (text === "") return "";
  const safe = text.replaceAll("*/", "*\\/").replaceAll(/\s+/g, " ");
  if (`${indent}/** ${safe} */`.length <= columnMax) return `${indent}/** ${safe} */\n`;
  const lines: string[] = [];
  for (const word of safe.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || `${indent} * ${line} ${word}`.length > columnMax) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

/**
 * Returns the members of an operation's type: parameters of the path, the query and the body, and the possible answers.
 */
function operationText(route: string, operation: Operation, types: Types): string {
  const { summary, parameters = [], requestBody, responses } = operation;
  const members = [
    parametersText("path", parameters, types),
    parametersText("query", parameters, types),
    ...Object.entries(requestBody?.content ?? {}).map(([type, media]) => bodyText(type, media, types)),
    ...Object.entries(responses["2XX"]?.content ?? {}).map(([type, media]) => answerText(type, media, types)),
  ];
  const lines = [...new Set(members.filter((member) => member !== ""))];
  return `${comment(`${summary}.`, "  ")}  readonly ${JSON.stringify(route)}: {\n${lines.join("\n")}\n  };`;
}

const indent = "    ";

function parametersText(place: "path" | "query", parameters: readonly Parameter[], types: Types): string {
  const own = parameters.filter((parameter) => parameter.in === place);
  if (own.length === 0) return "";
  const isRequired = ({ required = false }: Parameter): boolean => place === "path" || required;
  const properties = Object.fromEntries(
    own.map(({ name, schema, description = "" }) => [name, { ...schema, description }]),
  );
  const required = own.filter(isRequired).map(({ name }) => name);
  const type = types.text({ type: "object", properties, required }, { indent, isSent: true });
  return `${indent}readonly ${place}${required.length === 0 ? "?" : ""}: ${type};`;
}

function bodyText(mediaType: string, { schema }: Media, types: Types): string {
  if (mediaType === "application/json")
    return `${indent}readonly body: ${types.text(schema, { indent, isSent: true })};`;
  return `${indent}readonly ${mediaType === "multipart/form-data" ? "form" : "upload"}: true;`;
}

/** Returns the type of an answer: a JSON value, the data of each event in a stream, text, or bytes. */
function answerText(mediaType: string, { schema }: Media, types: Types): string {
  const type = types.text(schema, { indent, isSent: false });
  if (mediaType === "application/json") return `${indent}readonly answer: ${type};`;
  if (mediaType === "text/event-stream") return `${indent}readonly events: ${type};`;
  return `${indent}readonly ${mediaType === "text/plain" ? "text" : "bytes"}: true;`;
}
