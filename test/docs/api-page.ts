// Generates docs/reference/api.md from the document at /openapi.json. The page lists every route with the fields of its
// request and its answers. A test compares the page with the document.
import { Type } from "typebox";
import {
  branchesOf,
  type ApiDocument,
  type Operation,
  type Parameter,
  type Schema,
} from "../../src/api/http/testing/api-document.ts";
import { pageQuerySchema, pageSchema } from "../../src/api/wire/page.ts";
import { rangeText, typeText } from "./schema-words.ts";

/** A route with the names and titles that the page shows. */
interface Route {
  readonly name: string;
  readonly otherNames: readonly string[];
  readonly operation: Operation;
}

/** An object that is described once and linked from other places. */
interface SharedObject {
  readonly schema: Schema;
  readonly isSent: boolean;
}

type SharedObjects = ReadonlyMap<string, SharedObject>;

/**
 * Objects and fields that the page has already described, so that it describes none of them twice. Mutable: `rowsOf`
 * adds to it.
 */
interface Described {
  /**
   * The first field that has a set of nested rows, as the heading of its section and its path. The key is the JSON of
   * the rows.
   */
  readonly objects: Map<string, { readonly heading: string; readonly path: string }>;
  /**
   * Rows of the chat request's fields, as JSON. If another request has an equal field, the page shows only the field's
   * name there.
   */
  readonly chatFields: Set<string>;
}

const sections: Readonly<Record<string, string>> = {
  chat: "Chat",
  ollama: "Clients of Ollama",
  models: "Models",
  training: "Training",
  "fine-tuning": "OpenAI's fine-tuning API",
  rollouts: "Rollouts",
  files: "Files",
  recordings: "Recorded completions",
  trajectories: "Trajectories",
  feedback: "Feedback",
  annotation: "Annotation queues",
  webhooks: "Webhooks",
  keys: "Keys",
  retention: "Retention",
  tinker: "Training from a client's own loop (Tinker API)",
  traces: "Traces",
  weave: "Clients of Weave",
  health: "Health",
};

/**
 * For each section whose routes belong to another program, the name of that program. The page lists such routes without
 * their fields.
 */
const foreignClients: Readonly<Record<string, string>> = {
  "fine-tuning": "OpenAI's clients",
  ollama: "Ollama's clients",
  tinker: "the Python package `tinker`",
  weave: "Weave's clients",
};

export function apiPage(document: ApiDocument): string {
  const routes = routesIn(document);
  const own = routes.filter(({ operation }) => !isForeign(operation));
  const shared = sharedObjects(own);
  const described: Described = { objects: new Map(), chatFields: new Set() };
  const parts = Object.entries(sections).map(([tag, title]) => {
    const ofTag = routes.filter(({ operation }) => operation.tags.includes(tag));
    const client = foreignClients[tag];
    if (client !== undefined) return foreignSection(title, client, ofTag);
    const texts = ofTag.map((route) => routeText(route, { shared, described }));
    return `## ${title}\n\n${texts.join("\n")}`;
  });
  const objects = [...shared].map(([title, { schema, isSent }]) => {
    return `### ${title}\n\n${objectText(schema, { shared, described, isSent, heading: title, self: title })}`;
  });
  return [introduction, routeTable(own), listText, ...parts, `## Objects\n\n${objects.join("\n")}`].join(
    "\n",
  );
}

function routesIn({ paths }: ApiDocument): readonly Route[] {
  const routes = new Map<string, Route>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const name = `${method.toUpperCase()} ${path}`;
      const key = `${method} ${JSON.stringify(operation)}`;
      const known = routes.get(key);
      if (known === undefined) routes.set(key, { name, otherNames: [], operation });
      else routes.set(key, { ...known, otherNames: [...known.otherNames, name] });
    }
  }
  return [...routes.values()];
}

const foreignLinks = Object.keys(foreignClients)
  .map((tag) => `[${sections[tag] ?? tag}](#${anchor(sections[tag] ?? tag)})`)
  .join(", ");

const introduction = `# API

All routes, with every field of their requests and answers. Some sections list only routes, because another program defines their fields: ${foreignLinks}. \`npm run docs\` generates this page from the schemas that check requests. This page has the content of \`/openapi.json\`, which a running server also shows at \`/docs\`.

* Bodies are JSON. Types are strict: \`"0.5"\` is not a number, \`1.0\` is an integer, and numbers are IEEE doubles.
* If a field of a request may be null, sending null has the same effect as omitting the field.
* Unknown fields are accepted, at every depth. The response header \`x-hone-ignored\` lists their paths (\`tools.0.function.inputSchema\`). If several items of a list have the same unknown field, the header lists only the first. If the server knows a field but cannot apply it, it refuses the request.
* Credentials: for \`bearer\`, send the API key as \`Authorization: Bearer <key>\` or in the header \`x-api-key\`; for \`basic\`, send it as the password of Basic authentication, with any user name.
* Every error has the body [Error](#error), which lists all faults.
* Every answer has the header \`x-request-id\`: the id that the request sent in this header, or a new one. If you send an id in the header, the id of a chat completion is \`chatcmpl-<id>\`, and the body's \`request_id\` has no effect. The header of an answer never contains the body's \`request_id\`.
* If an object has the same fields as an object described earlier on this page, its description refers to that object instead of repeating the fields.

## Routes
`;

const listParameters: readonly Row[] = Object.entries<Schema>(pageQuerySchema.properties).map(
  ([name, schema]) => parameterRow({ name, in: "query", schema, description: schema.description }),
);

const listFields: readonly Row[] = Object.entries<Schema>(pageSchema(Type.Unknown()).properties)
  .filter(([name]) => name !== "data")
  .map(([name, schema]) => [`\`${name}\``, typeText(schema, () => null), ...answeredRow(schema, true)]);

const listText = `## Lists

Lists are paged: while \`has_more\` of a page is true, pass the page's \`last_id\` as \`after\` to get the next page. Most lists take these parameters:

${table(["parameter", "in", "type", "default", "range", "description"], listParameters)}
A page has the list \`data\` and these fields:

${table(["field", "type", "values", "description"], listFields)}`;

function foreignSection(title: string, client: string, routes: readonly Route[]): string {
  const note = `Hone offers the routes of this section for ${client}, and reads the fields that these clients send. \`/docs\` of a running server describes the fields that Hone reads.`;
  const rows = routes.map(
    (route) =>
      `| \`${route.name}\` | ${descriptionOf(route).replaceAll("|", "\\|")} | ${credentials(route.operation)} |`,
  );
  return `## ${title}\n\n${note}\n\n| route | description | credentials |\n|---|---|---|\n${rows.join("\n")}\n`;
}

function descriptionOf({ otherNames, operation: { summary, description = "" } }: Route): string {
  const also = otherNames.length === 0 ? "" : `The same as \`${otherNames.join("`, `")}\`.`;
  return [`${summary}.`, description, also].filter(Boolean).join(" ");
}

function routeTable(routes: readonly Route[]): string {
  const rows = routes.map(
    ({ name, operation }) =>
      `| [\`${name}\`](#${anchor(name)}) | ${operation.summary} | ${credentials(operation)} |`,
  );
  return `| route | description | credentials |\n|---|---|---|\n${rows.join("\n")}\n`;
}

function credentials({ security = [] }: Operation): string {
  const schemes = security.flatMap((scheme) => Object.keys(scheme));
  return schemes.length === 0 ? "none" : schemes.join(", ");
}

function isForeign({ tags }: Operation): boolean {
  return tags.some((tag) => Object.hasOwn(foreignClients, tag));
}

/** Returns the anchor that Markdown renderers generate for a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

/** Returns the titled objects that more than one route uses. */
function sharedObjects(routes: readonly Route[]): SharedObjects {
  const found = new Map<string, SharedObject & { readonly places: Set<string> }>();
  const visit = (schema: Schema, place: string, isSent: boolean): void => {
    for (const branch of branchesOf(schema)) {
      const { title, items, properties = {} } = branch;
      if (title !== undefined && Object.keys(properties).length > 0) {
        const entry = found.get(title) ?? { schema: branch, isSent, places: new Set<string>() };
        found.set(title, entry);
        entry.places.add(place);
      }
      for (const inner of [...(items === undefined ? [] : [items]), ...Object.values(properties)])
        visit(inner, place, isSent);
    }
  };
  for (const { name, operation } of routes) {
    for (const { schema } of Object.values(operation.requestBody?.content ?? {})) visit(schema, name, true);
    for (const { content } of Object.values(operation.responses))
      for (const { schema } of Object.values(content)) visit(schema, name, false);
  }
  return new Map([...found].filter(([, { places }]) => places.size > 1));
}

function routeText(route: Route, page: Pick<Context, "shared" | "described">): string {
  const { name, operation } = route;
  const { parameters = [], requestBody, responses } = operation;
  const others = parameters.filter((parameter) => !isPlainId(parameter) && !isOfLists(parameter));
  const short = others.length > 0 ? [] : parameters.filter(isPlainId).map(plainId);
  const text = [descriptionOf(route), ...short, ...listParametersOf(parameters)].join(" ");
  const parts = [`### ${name}\n`, `${text}\n`];
  if (others.length > 0) parts.push(parameterTable(parameters.filter((parameter) => !isOfLists(parameter))));
  for (const { schema } of Object.values(requestBody?.content ?? {}))
    parts.push(bodyText(schema, { ...page, isSent: true, heading: name }));
  for (const [status, response] of Object.entries(responses)) {
    // Skips errors, because all have the same body, to which the introduction links.
    if (status === "4XX" || status === "5XX") continue;
    for (const [mediaType, { schema }] of Object.entries(response.content)) {
      const kind = mediaType === "application/json" ? "" : ` as \`${mediaType}\``;
      const head = `The answer${status === "2XX" ? "" : ` ${status}`}${kind}: ${response.description}`;
      const context = { ...page, isSent: false, heading: name };
      if (mediaType === "text/plain") parts.push(`${head}\n`);
      else parts.push(answerText(head, schema, context));
    }
  }
  return parts.join("\n");
}

/** Returns a sentence with the names of the parameters that the section Lists describes; no sentence if there are none. */
function listParametersOf(parameters: readonly Parameter[]): readonly string[] {
  const named = parameters.filter(isOfLists).map(({ name }) => `\`${name}\``);
  return named.length === 0 ? [] : [`Takes the [parameters of lists](#lists) ${named.join(", ")}.`];
}

function isOfLists(parameter: Parameter): boolean {
  return isSame(parameterRow(parameter), listParameters);
}

/** Returns true for a text in the path, which needs no row of a table. */
function isPlainId({ in: place, schema }: Parameter): boolean {
  return place === "path" && typeText(schema, () => null) === "string" && rangeText(schema) === "";
}

function plainId({ name, description = "" }: Parameter): string {
  return `In the path, \`${name}\`: ${description}`;
}

/**
 * Returns the table of a request's fields. Fields that a chat request has too are not in the table; a sentence names
 * them and links to the chat request.
 */
function bodyText(schema: Schema, context: Context): string {
  const chat = "POST /v1/chat/completions";
  const { chatFields } = context.described;
  const rows = linkTo(schema, context) === null ? rowsOf(schema, "", context) : [];
  const isOfChat = (row: Row): boolean => chatFields.has(JSON.stringify(row));
  const count = rows.filter(isOfChat).length;
  if (context.heading === chat) for (const row of rows) chatFields.add(JSON.stringify(row));
  // Keeps the whole table if there are at most three such fields, because it is easier to read.
  if (context.heading === chat || count < 4)
    return `The body:${rows.length === 0 ? " " : "\n\n"}${objectText(schema, context, rows)}`;
  const names = rows.filter(isOfChat).map(([name = ""]) => name);
  return `The body takes fields of [\`${chat}\`](#${anchor(chat)}), with the same meaning: ${names.join(", ")}. Its other fields:

${sentTable(rows.filter((row) => !isOfChat(row)))}`;
}

/**
 * Returns an answer's heading line and the table of its fields, without the fields that the section Lists describes.
 */
function answerText(head: string, schema: Schema, context: Context): string {
  const rows = linkTo(schema, context) === null ? rowsOf(schema, "", context) : [];
  const rest = rows.filter((row) => !isSame(row, listFields));
  // A page of a list has all fields in `listFields`, which are left out of its table. Another answer may have a single
  // field equal to one of them; its table stays complete.
  if (rows.length - rest.length < listFields.length)
    return `${head}${rows.length === 0 ? " " : "\n\n"}${objectText(schema, context, rows)}`;
  const [[, type] = [], ...others] = rest;
  if (others.length === 0)
    return `${head} See [Lists](#lists) for the fields of a page; \`data\` is an ${type}.\n`;
  return `${head} See [Lists](#lists) for the other fields of a page.\n\n${answeredTable(rest)}`;
}

function isSame(row: Row, known: readonly Row[]): boolean {
  return known.some((other) => other.join("|") === row.join("|"));
}

function parameterTable(parameters: readonly Parameter[]): string {
  return table(["parameter", "in", "type", "default", "range", "description"], parameters.map(parameterRow));
}

function parameterRow({ name, in: place, schema, description = "", required = false }: Parameter): Row {
  return [
    `\`${name}\``,
    place,
    typeText(schema, () => null),
    defaultText(schema, required),
    rangeText(schema),
    description,
  ];
}

interface Context {
  readonly shared: SharedObjects;
  readonly described: Described;
  readonly isSent: boolean;
  /** Heading of the section that is being written. */
  readonly heading: string;
  /** Title of the shared object that is being described. */
  readonly self?: string;
}

function objectText(schema: Schema, context: Context, known?: readonly Row[]): string {
  const rows = known ?? (linkTo(schema, context) === null ? rowsOf(schema, "", context) : []);
  if (rows.length === 0) return `${capital(typeText(schema, (inner) => linkTo(inner, context)))}.\n`;
  return context.isSent ? sentTable(rows) : answeredTable(rows);
}

function sentTable(rows: readonly Row[]): string {
  return table(["field", "type", "default", "range", "description", "example"], rows);
}

function answeredTable(rows: readonly Row[]): string {
  return table(["field", "type", "values", "description"], rows);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function linkTo({ title = "" }: Schema, { shared, self }: Context): string | null {
  return shared.has(title) && title !== self ? `[${title}](#${anchor(title)})` : null;
}

type Row = readonly string[];

/**
 * Returns a row for each property, followed by the rows of its nested properties. If an earlier object had the same
 * nested rows, refers to that object instead.
 */
function rowsOf(schema: Schema, place: string, context: Context): readonly Row[] {
  return branchesOf(schema).flatMap((branch) => {
    if (linkTo(branch, context) !== null) return [];
    if (branch.items !== undefined) return rowsOf(branch.items, `${place}[]`, context);
    return Object.entries(branch.properties ?? {}).flatMap(([name, property]) => {
      const inner = place === "" ? name : `${place}.${name}`;
      const isRequired = branch.required?.includes(name) === true;
      const type = typeText(property, (one) => linkTo(one, context));
      const row = context.isSent ? sentRow(property, isRequired) : answeredRow(property, isRequired);
      const earlier = describedBefore(property, inner, context);
      if (earlier === null) return [[`\`${inner}\``, type, ...row], ...rowsOf(property, inner, context)];
      return [[`\`${inner}\``, type, ...withText(row, `Has the same fields as ${earlier}.`, context)]];
    });
  });
}

/**
 * Returns a reference to the earlier field whose nested rows equal this schema's. If there is none, returns null, and
 * later fields may refer to this one.
 */
function describedBefore(schema: Schema, path: string, context: Context): string | null {
  const { described, heading } = context;
  const rows = rowsOf(schema, "", { ...context, described: { objects: new Map(), chatFields: new Set() } });
  // Repeats one or two rows, because they are shorter than a reference.
  if (rows.length < 3) return null;
  const key = JSON.stringify(rows);
  const first = described.objects.get(key);
  if (first === undefined) described.objects.set(key, { heading, path });
  if (first === undefined) return null;
  return first.heading === heading
    ? `\`${first.path}\` above`
    : `\`${first.path}\` in [${first.heading}](#${anchor(first.heading)})`;
}

/** Returns a row's cells with a sentence added to the description. */
function withText(row: Row, text: string, { isSent }: Context): Row {
  const column = isSent ? 2 : 1;
  return row.map((cell, index) => (index === column ? [cell, text].filter(Boolean).join(" ") : cell));
}

function sentRow(schema: Schema, isRequired: boolean): Row {
  const about = [
    schema.description ?? "",
    isRefusedWithoutSaying(schema) ? "Not supported: refused unless absent or at its default." : "",
    schema["x-engine-feature"] === true ? "Refused if the model's engine does not support it." : "",
  ];
  const [example] = schema.examples ?? [];
  return [
    defaultText(schema, isRequired),
    rangeText(schema),
    about.filter(Boolean).join(" "),
    example === undefined ? "" : `\`${JSON.stringify(example)}\``,
  ];
}

function isRefusedWithoutSaying({ "x-refused": isRefused, description = "" }: Schema): boolean {
  return isRefused === true && !description.startsWith("Refused");
}

function answeredRow(schema: Schema, isAlways: boolean): Row {
  return [
    rangeText(schema),
    [schema.description ?? "", isAlways ? "" : "May be absent."].filter(Boolean).join(" "),
  ];
}

function defaultText(schema: Schema, isRequired: boolean): string {
  if (isRequired) return "required";
  if (schema["x-default"] !== undefined) return schema["x-default"];
  return schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``;
}

/** Returns a Markdown table without the columns that are empty in all rows. */
function table(heads: Row, rows: readonly Row[]): string {
  const isKept = heads.map((_, column) => rows.some((row) => (row[column] ?? "") !== ""));
  const line = (cells: Row): string =>
    `| ${cells
      .filter((_, column) => isKept[column])
      .map((cell) => cell.replaceAll("|", "\\|"))
      .join(" | ")} |`;
  const rule = isKept.map((is) => (is ? "---|" : "")).join("");
  return `${[line(heads), `|${rule}`, ...rows.map(line)].join("\n")}\n`;
}
