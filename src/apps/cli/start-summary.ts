// Formats the message that a server prints on a terminal after starting: its address, its key, and its models.
import type { Server } from "../server/server.ts";

type Started = Pick<Server, "url" | "firstKey" | "baseModels">;

/** Returns the message, with empty lines around its parts. */
export function startSummary(
  { url, firstKey, baseModels }: Started,
  { data }: { readonly data: string },
): string {
  const facts = [
    ["address", `${url}/v1 for OpenAI clients, ${url}/docs for the API reference`],
    ["key", firstKey.place],
    ["data", data],
  ];
  const models = [
    ["model", "context", "tool calls", "thoughts", ""],
    ...baseModels.map(({ name, contextLength, replies, presence }) => [
      name,
      contextLength?.toLocaleString("en-US") ?? "",
      replies?.calls.format ?? "",
      replies === null ? "" : replies.thoughts.areRead ? "on" : "off",
      presence.status === "failed" ? "could not be loaded" : "",
    ]),
  ];
  const faults = baseModels.flatMap(({ presence: { status, reason } }) =>
    status === "failed" ? [reason] : [],
  );
  return [
    "",
    ...columns(facts),
    "",
    ...columns(models),
    "",
    ...faults.flatMap((fault) => [`  ${fault}`, ""]),
    "Press Ctrl+C to stop; running answers finish first.",
    "",
    "",
  ].join("\n");
}

function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column])).join("   ")}`.trimEnd(),
  );
}
