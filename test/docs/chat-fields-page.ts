// Finds the tests for each field of a chat request. Such a test uses the field over HTTP, and its title has the field
// in backquotes. Returns the tests as a list, and as the page docs/reference/chat-fields.md.
import { readdirSync, readFileSync } from "node:fs";
import { chatRequestSchema } from "../../src/api/wire/chat/chat-request.ts";

const { structured_outputs: constraint, stream_options: streamOptions } = chatRequestSchema.properties;

/** Fields of a chat request, including those of its option objects. */
const fields: readonly string[] = [
  ...Object.keys(chatRequestSchema.properties),
  ...Object.keys(constraint.anyOf[0].properties).map((name) => `structured_outputs.${name}`),
  ...Object.keys(streamOptions.anyOf[0].properties).map((name) => `stream_options.${name}`),
];

export interface ProvedField {
  readonly field: string;
  readonly tests: readonly { readonly file: string; readonly title: string }[];
}

/** Returns every field with its tests, in the order of the schema. */
export function provedFields(): readonly ProvedField[] {
  const all = titles();
  return fields.map((field) => ({ field, tests: all.filter(({ title }) => title.includes(`\`${field}\``)) }));
}

/** Returns the titles of all tests over HTTP. */
function titles(): ProvedField["tests"] {
  const files = ["test", "src/api/http"].flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => `${folder}/${String(name).replaceAll("\\", "/")}`),
  );
  return files
    .filter((file) => file.endsWith(".test.ts"))
    .sort()
    .flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/^\s*test\(\s*"((?:[^"\\]|\\.)*)"/gm)].map(
        ([, title = ""]) => ({ file, title }),
      ),
    );
}

export function provedFieldsPage(): string {
  const rows = provedFields().flatMap(({ field, tests }) =>
    tests.map(({ file, title }, index) => {
      const name = index === 0 ? `\`${field}\`` : "";
      return `| ${name} | ${title.replaceAll("|", "\\|")} | [${file}](../../${file}) |`;
    }),
  );
  return `# Tests for the fields of a chat request

All fields of a chat request, each with the tests over HTTP whose names mention the field. \`npm run docs\` generates this page; [the API reference](api.md#post-v1chatcompletions) describes the fields.

| field | test | file |
|---|---|---|
${rows.join("\n")}
`;
}
