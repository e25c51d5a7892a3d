// Which tests over HTTP prove what each field of a chat request does: those whose titles name it in backquotes. As a list, and
// as the page docs/reference/chat-fields.md.
import { readdirSync, readFileSync } from "node:fs";
import { chatRequestSchema } from "../../src/api/wire/chat/chat-request.ts";

const { structured_outputs: constraint, stream_options: streamOptions } = chatRequestSchema.properties;

/** With those of the objects that the interface lists field by field. */
const fields: readonly string[] = [
  ...Object.keys(chatRequestSchema.properties),
  ...Object.keys(constraint.anyOf[0].properties).map((name) => `structured_outputs.${name}`),
  ...Object.keys(streamOptions.anyOf[0].properties).map((name) => `stream_options.${name}`),
];

export interface ProvedField {
  readonly field: string;
  readonly tests: readonly { readonly file: string; readonly title: string }[];
}

/** Every field with its tests, in the order of the schema. */
export function provedFields(): readonly ProvedField[] {
  const all = titles();
  return fields.map((field) => ({ field, tests: all.filter(({ title }) => title.includes(`\`${field}\``)) }));
}

/** Titles of the tests over HTTP. */
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

/** The whole page docs/reference/chat-fields.md. */
export function provedFieldsPage(): string {
  const rows = provedFields().map(({ field, tests }) => {
    const texts = tests.map(({ file, title }) => `[${file}](../${file}): ${title}`);
    return `| \`${field}\` | ${texts.join("<br>").replaceAll("|", "\\|")} |`;
  });
  return `# What proves the fields of a chat request

Every field with the tests over HTTP that are named after it. This page is written by \`npm run docs\`; what the fields mean is on [the page of the API](api.md#post-v1chatcompletions).

| field | tests |
|---|---|
${rows.join("\n")}
`;
}
