// The page docs/reference/api.md: every route with the fields of what it takes and answers, all of it from the document that
// /openapi.json is. A test compares the two.
import {
  branchesOf,
  type ApiDocument,
  type Operation,
  type Parameter,
  type Schema,
} from "../../src/api/http/testing/api-document.ts";
import { rangeText, typeText } from "./schema-words.ts";

/** An operation under every name that it has. */
interface Route {
  readonly name: string;
  readonly otherNames: readonly string[];
  readonly operation: Operation;
}

/** An object that is described once, and linked to from everywhere else. */
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

/** The whole page. */
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

Every route, and every field of what it takes and answers. This page is written by \`npm run docs\` from the schemas that check requests, and says what \`/openapi.json\` says; \`/docs\` of a running server shows that.

* Bodies are JSON. Types are strict: \`"0.5"\` is no number, \`1.0\` is an integer, and numbers are IEEE doubles.
* A field that may be null is null or left out to the same effect.
* A field that no schema names is accepted, and its path comes back in the response header \`x-hone-ignored\`, at every depth (\`tools.0.function.inputSchema\`); of a list, the first item that has it is named. A known field that cannot be honoured is refused, never ignored.
* A key may stand in the header \`x-api-key\` where \`Authorization: Bearer\` is wanted.
* Every error has the body [Error](#error), which names all that was wrong, and every answer the header \`x-request-id\`: the request's own, where it sent one, else a fresh one. It names the answer to a chat (\`chatcmpl-<id>\`), before the body's \`request_id\`, which the header does not repeat.
* A list answers with a page: \`after\` takes the \`last_id\` of the page before as long as there \`has_more\`.

## Routes
`;

function routeTable(routes: readonly Route[]): string {
  const rows = routes.map(
    ({ name, operation }) =>
      `| [\`${name}\`](#${anchor(name)}) | ${operation.summary} | ${credentials(operation)} |`,
  );
  return `| route | what it does | credentials |\n|---|---|---|\n${rows.join("\n")}\n`;
}

function credentials({ security = [] }: Operation): string {
  const schemes = security.flatMap((scheme) => Object.keys(scheme));
  return schemes.length === 0 ? "none" : schemes.join(", ");
}

/** As the places where this is read make links of headings. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}

/** Objects with a title that more than one route has. */
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
    // Errors have one body, of which the introduction speaks.
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
  return table(["parameter", "in", "type", "default", "range", "what it does"], rows);
}

interface Context {
  readonly shared: SharedObjects;
  readonly isSent: boolean;
  /** The title of the shared object that is described. */
  readonly self?: string;
}

function objectText(schema: Schema, context: Context): string {
  const rows = linkTo(schema, context) === null ? rowsOf(schema, "", context) : [];
  if (rows.length === 0) return `${capital(typeText(schema, (inner) => linkTo(inner, context)))}.\n`;
  return context.isSent
    ? table(["field", "type", "default", "range", "what it does", "example"], rows)
    : table(["field", "type", "values", "what it is"], rows);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function linkTo({ title = "" }: Schema, { shared, self }: Context): string | null {
  return shared.has(title) && title !== self ? `[${title}](#${anchor(title)})` : null;
}

type Row = readonly string[];

/** A row for each property, and under that of an object those of the object. */
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
    schema["x-refused"] === true ? "Not served: refused unless left out or at its default." : "",
    schema["x-engine-feature"] === true ? "Refused where the model's engine lacks it." : "",
  ];
  const [example] = schema.examples ?? [];
  return [
    defaultText(schema, isRequired),
    rangeText(schema),
    about.filter(Boolean).join(" "),
    example === undefined ? "" : `\`${JSON.stringify(example)}\``,
  ];
}

function answeredRow(schema: Schema, isAlways: boolean): Row {
  return [
    rangeText(schema),
    [schema.description ?? "", isAlways ? "" : "Not always there."].filter(Boolean).join(" "),
  ];
}

function defaultText(schema: Schema, isRequired: boolean): string {
  if (isRequired) return "required";
  if (schema["x-default"] !== undefined) return schema["x-default"];
  return schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``;
}

/** Columns that no row has anything in are left out. */
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
