// Writes a chat request as code that people copy into their programs. Has no side effects.

export const codeLanguages = ["curl", "TypeScript", "Python"] as const;
export type CodeLanguage = (typeof codeLanguages)[number];

/** @param baseUrl address of the API, such as `http://127.0.0.1:8000/v1` */
export function requestCode(language: CodeLanguage, baseUrl: string, body: object): string {
  return writers[language](baseUrl, body);
}

const writers: { readonly [L in CodeLanguage]: (baseUrl: string, body: object) => string } = {
  curl: (baseUrl, body) =>
    [
      `curl ${baseUrl}/chat/completions \\`,
      '  -H "Authorization: Bearer $HONE_API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      `  -d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`,
      "",
    ].join("\n"),
  TypeScript: (baseUrl, body) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${JSON.stringify(baseUrl)}, apiKey: process.env.HONE_API_KEY });
const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
console.log(answer.choices[0].message);
`,
  Python: (baseUrl, body) => {
    const given = Object.entries(body).map(([name, value]) => `    ${name}=${pythonText(value)},\n`);
    return `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(baseUrl)}, api_key=os.environ["HONE_API_KEY"])
answer = client.chat.completions.create(
${given.join("")})
print(answer.choices[0].message)
`;
  },
};

function pythonText(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonText).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${pythonText(member)}`,
  );
  return `{${members.join(", ")}}`;
}
