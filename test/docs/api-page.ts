// Generates docs/reference/api.md from the document at /openapi.json: every route with the fields of its request and
// its answers. A test compares the page with the document.
import {
  branchesOf,
  type ApiDocument,
  type Operation,
  type Parameter,
  type Schema,
} from "../../src/api/http/testing/api-document.ts";
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

const sections: Readonly<Record<string, string>> = {
  chat: "Chat",
  models: "Models",
  training: "Training",
  files: "Files",
  recordings: "Recorded completions",
  trajectories: "Trajectories",
  feedback: "Feedback",
  annotation: "Annotation queues",
  webhooks: "Webhooks",
  keys: "Keys",
  retention: "Retention",
  weave: "Clients of Weave",
  health: "Health",
};

/** Returns the page docs/reference/api.md. */
export function apiPage(document: ApiDocument): string {
  const routes = routesIn(document);
  const shared = sharedObjects(routes);
  const parts = Object.entries(sections).map(([tag, title]) => {
    const texts = routes
      .filter(({ operation }) => operation.tags.includes(tag))
      .map((route) => routeText(route, shared));
    return `## ${title}\n\n${texts.join("\n")}`;
  });
  const objects = [...shared].map(([title, { schema, isSent }]) => {
    return `### ${title}\n\n${objectText(schema, { shared, isSent, self: title })}`;
  });
  return `${introduction}\n${routeTable(routes)}\n${parts.join("\n")}\n## Objects\n\n${objects.join("\n")}`;
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

const introduction = `# API

All routes, with every field of their requests and answers. \`npm run docs\` generates this page from the schemas that check requests. It has the content of \`/openapi.json\`, which a running server also shows at \`/docs\`.

* Bodies are JSON. Types are strict: \`"0.5"\` is not a number, \`1.0\` is an integer, and numbers are IEEE doubles.
* If a field may be null, null and leaving it out mean the same.
* Unknown fields are accepted, at every depth. The response header \`x-hone-ignored\` lists their paths (\`tools.0.function.inputSchema\`); in a list, it names the first item with the field. A known field that the server cannot honour is refused, never ignored.
* Routes that accept \`Authorization: Bearer\` also accept the key in the header \`x-api-key\`.
* Every error has the body [Error](#error), which lists all faults.
* Every answer has the header \`x-request-id\`: the id sent with the request, or a new one. If you send an id, the id of a chat completion is \`chatcmpl-<id>\`, and the body's \`request_id\` has no effect. The header never contains the body's \`request_id\`.
* Lists are paged: while \`has_more\` of a page is true, pass its \`last_id\` as \`after\` to get the next page.

## Routes
`;

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

function routeText({ name, otherNames, operation }: Route, shared: SharedObjects): string {
  const { summary, description = "", parameters = [], requestBody, responses } = operation;
  const also = otherNames.length === 0 ? "" : `The same as \`${otherNames.join("`, `")}\`.`;
  const parts = [`### ${name}\n`, `${[`${summary}.`, description, also].filter(Boolean).join(" ")}\n`];
  if (parameters.length > 0) parts.push(parameterTable(parameters));
  for (const { schema } of Object.values(requestBody?.content ?? {}))
    parts.push(`The body:\n\n${objectText(schema, { shared, isSent: true })}`);
  for (const [status, response] of Object.entries(responses)) {
    // Skipped, because all errors have the same body, which the introduction links to.
    if (status === "4XX" || status === "5XX") continue;
    for (const [mediaType, { schema }] of Object.entries(response.content)) {
      const kind = mediaType === "application/json" ? "" : ` as \`${mediaType}\``;
      parts.push(`The answer${status === "2XX" ? "" : ` ${status}`}${kind}: ${response.description}\n`);
      if (mediaType !== "text/plain") parts.push(objectText(schema, { shared, isSent: false }));
    }
  }
  return parts.join("\n");
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(({ name, in: place, schema, description = "", required = false }) => [
    `\`${name}\``,
    place,
    typeText(schema, () => null),
    defaultText(schema, required),
    rangeText(schema),
    description,
  ]);
  return table(["parameter", "in", "type", "default", "range", "description"], rows);
}

interface Context {
  readonly shared: SharedObjects;
  readonly isSent: boolean;
  /** Title of the shared object that is being described. */
  readonly self?: string;
}

function objectText(schema: Schema, context: Context): string {
  const rows = linkTo(schema, context) === null ? rowsOf(schema, "", context) : [];
  if (rows.length === 0) return `${capital(typeText(schema, (inner) => linkTo(inner, context)))}.\n`;
  return context.isSent
    ? table(["field", "type", "default", "range", "description", "example"], rows)
    : table(["field", "type", "values", "description"], rows);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function linkTo({ title = "" }: Schema, { shared, self }: Context): string | null {
  return shared.has(title) && title !== self ? `[${title}](#${anchor(title)})` : null;
}

type Row = readonly string[];

/** Returns a row for each property, followed by the rows of its nested properties. */
function rowsOf(schema: Schema, place: string, context: Context): readonly Row[] {
  return branchesOf(schema).flatMap((branch) => {
    if (linkTo(branch, context) !== null) return [];
    if (branch.items !== undefined) return rowsOf(branch.items, `${place}[]`, context);
    return Object.entries(branch.properties ?? {}).flatMap(([name, property]) => {
      const inner = place === "" ? name : `${place}.${name}`;
      const isRequired = branch.required?.includes(name) === true;
      const row = context.isSent ? sentRow : answeredRow;
      return [
        [`\`${inner}\``, typeText(property, (one) => linkTo(one, context)), ...row(property, isRequired)],
        ...rowsOf(property, inner, context),
      ];
    });
  });
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
