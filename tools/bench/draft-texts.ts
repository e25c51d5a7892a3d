// Questions for `tools/bench/drafts`. The answers to some of them copy text from the question; the answers to the
// others do not.

export interface DraftText {
  readonly name: string;
  readonly question: string;
  /** Start of the answer. The prompt includes it, so that a small model follows the question. */
  readonly beginning: string;
}

const code = `import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

interface Entry {
  readonly key: string;
  readonly value: string;
  readonly expiresAt: number | null;
}

export class FileCache {
  private entries = new Map<string, Entry>();

  constructor(private readonly path: string) {}

  async load(): Promise<void> {
    const text = await readFile(this.path, "utf8");
    for (const entry of JSON.parse(text) as Entry[]) {
      this.entries.set(entry.key, entry);
    }
  }

  get(key: string): string | null {
    const entry = this.entries.get(hashOf(key));
    if (entry === undefined) return null;
    if (entry.expiresAt !== null && entry.expiresAt < Date.now()) return null;
    return entry.value;
  }

  set(key: string, value: string, seconds: number | null): void {
    const expiresAt = seconds === null ? null : Date.now() + 1000 * seconds;
    this.entries.set(hashOf(key), { key: hashOf(key), value, expiresAt });
  }

  async save(): Promise<void> {
    await writeFile(this.path, JSON.stringify([...this.entries.values()]));
  }
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
`;

const records = JSON.stringify(
  ["Lisbon", "Nairobi", "Osaka", "Bergen", "Quito"].map((city, index) => ({
    id: 4711 + 13 * index,
    city,
    opened: `20${10 + index}-0${index + 2}-1${index}`,
    beds: 40 + 17 * index,
    contact: { name: `Manager ${index + 1}`, email: `${city.toLowerCase()}@hostels.example` },
  })),
  null,
  2,
);

const report = `The harbour office closed the northern channel on Tuesday after a survey found that the sandbank had moved sixty metres to the east since the spring. Ships with a draught of more than four metres now have to wait for high tide and pass through the southern channel, which adds about ninety minutes to each journey. The fishing boats are not affected. The office expects the dredging to begin in the second week of May and to take eleven days, if the weather holds. Until then two pilots are on duty at all hours, one more than usual, and the lighthouse keeper reports the depth at the bar every three hours by radio. The ferry company said that it would cancel its late service on Fridays and Sundays and sell tickets for the early one at half the price.`;

export const draftTexts: readonly DraftText[] = [
  {
    name: "copies: code with a rename",
    question: `Rename the method \`save\` to \`store\` and return the whole file.\n\n\`\`\`ts\n${code}\`\`\``,
    beginning: '```ts\nimport { createHash } from "node:crypto";\n',
  },
  {
    name: "copies: JSON again",
    question: `Repeat this JSON exactly as it is:\n\n${records}`,
    beginning: "[\n  {\n",
  },
  {
    name: "copies: quotes of a report",
    question: `${report}\n\nList the most important sentences of this text, word for word.`,
    beginning: "1. The harbour office closed",
  },
  {
    name: "does not: a story",
    question: "Write a story about a lighthouse keeper who finds a letter in a bottle.",
    beginning: "",
  },
  {
    name: "does not: an explanation",
    question: "Explain how a rainbow forms, and why its colours always come in the same order.",
    beginning: "",
  },
  {
    name: "does not: a letter about a report",
    question: `${report}\n\nWrite a letter to a friend in which you say what you think of all this, in your own words.`,
    beginning: "",
  },
];
