// `hone usage`: show the tokens of each key by day and model, with their cost if the server has prices.
import type { Command } from "commander";
import { systemClock } from "../../../base/domain/clock.ts";
import { counted } from "../../../base/domain/text/counted.ts";
import type { Usage } from "../../client/api.ts";
import { costSum, costText } from "../../client/cost-text.ts";
import { addConnectionFlags, connect, printRows, type ConnectionFlags } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";

interface UsageFlags extends ConnectionFlags, JsonFlag {
  readonly from?: string;
  readonly to?: string;
  readonly keyId?: string;
  readonly model?: string;
  readonly entity?: string;
}

/** Number of days that the command shows by default. */
const dayCount = 30;

const columns = [
  "day",
  "key_id",
  "model",
  "requests",
  "prompt_tokens",
  "cached_tokens",
  "completion_tokens",
  "training_tokens",
] as const;

export function addUsageCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("usage")
      .description("Show the tokens of each key by day and model, and their cost if the server has prices."),
  )
    .option("--from <day>", `first day, such as 2026-11-01 (default: ${dayCount - 1} days ago)`)
    .option("--to <day>", "last day (default: today)")
    .option("--key-id <id>", "only usage of the key with this id")
    .option("--model <name>", "only usage of this model: entity/project/name, or the name of a base model")
    .option("--entity <entity>", "only usage of this entity's keys")
    .option("--json", "print JSON")
    .action(async ({ from = firstDay(), to, keyId, model, entity, ...flags }: UsageFlags) => {
      const query = {
        from,
        ...(to === undefined ? {} : { to }),
        ...(keyId === undefined ? {} : { key_id: keyId }),
        ...(model === undefined ? {} : { model }),
        ...(entity === undefined ? {} : { entity }),
      };
      const rows = await connect(flags).keys.usage(query).all();
      const hasCosts = rows.some(({ cost }) => cost !== null);
      printRows(
        rows.map((row) => (flags.json === true ? row : { ...row, cost: costText(row) })),
        { ...flags, columns: [...columns, ...(hasCosts ? ["cost"] : [])] },
      );
      if (flags.json !== true && rows.length > 0) process.stdout.write(`\n${totalLine(rows)}\n`);
    });
}

function firstDay(): string {
  const first = systemClock.now().getTime() - (dayCount - 1) * 86_400_000;
  return new Date(first).toISOString().slice(0, 10);
}

function totalLine(rows: readonly Usage[]): string {
  const sumOf = (of: (row: Usage) => number): number => rows.reduce((sum, row) => sum + of(row), 0);
  const tokens = sumOf((row) => row.prompt_tokens + row.completion_tokens + row.training_tokens);
  const parts = [
    counted(
      sumOf(({ requests }) => requests),
      "request",
    ),
    counted(tokens, "token"),
    costText(costSum(rows)),
  ];
  return `total: ${parts.filter((part) => part !== null).join(", ")}`;
}
