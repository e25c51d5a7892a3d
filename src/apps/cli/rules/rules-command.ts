// `hone rules`: manage reward rules, preview the training data that a rule yields, and train on it.
import type { Command } from "commander";
import type { FeedbackJobCreate, RewardRule } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags, printResult, printRows } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findNamed } from "../names/named-version.ts";
import { newName } from "../names/new-name.ts";
import { findRule } from "./find-rule.ts";
import { previewLines } from "./preview-screen.ts";
import { addTermFlags, hasTerms, readTerms, type TermFlags } from "./term-flags.ts";

type Flags = ConnectionFlags & JsonFlag;

export function addRulesCommand(program: Command): void {
  const rules = program
    .command("rules")
    .description("Manage reward rules, which compute rewards from feedback and can train models on them.");
  addConnectionFlags(rules.command("list", { isDefault: true }).description("List reward rules."))
    .option("--project <name>", "only rules of this project")
    .option("--json", "print JSON")
    .action(async (flags: Flags & { readonly project?: string }) => {
      const query = flags.project === undefined ? {} : { project: flags.project };
      const found = await connect(flags).rules.list(query).all();
      printRows(
        found.map((rule) => (flags.json === true ? { ...rule } : listed(rule))),
        {
          ...flags,
          columns: ["id", "rule", "terms", "trains", "status"],
        },
      );
    });
  addAddCommand(rules);
  addConnectionFlags(
    rules.command("show <rule>").description("Show a reward rule, and the time of its next training."),
  )
    .option("--json", "print JSON")
    .action(async (name: string, flags: Flags) => {
      const rule = await findRule(connect(flags), name);
      printResult(rule, shown(rule).join("\n"), flags);
    });
  for (const [verb, description] of [
    ["pause", "Pause the automatic training of a reward rule."],
    ["resume", "Resume the automatic training of a paused reward rule."],
  ] as const)
    addConnectionFlags(rules.command(`${verb} <rule>`).description(description))
      .option("--json", "print JSON")
      .action(async (name: string, flags: Flags) => {
        const client = connect(flags);
        const rule = await client.rules[verb]((await findRule(client, name)).id);
        printResult(rule, shown(rule).join("\n"), flags);
      });
  addConnectionFlags(
    rules.command("delete <rule>").description("Delete a reward rule; versions that its jobs made are kept."),
  )
    .option("--json", "print JSON")
    .action(async (name: string, flags: Flags) => {
      const client = connect(flags);
      const { id } = await findRule(client, name);
      printResult(await client.rules.delete(id), `${id} deleted`, flags);
    });
  addTrainingCommands(rules);
}

interface AddFlags extends Flags, TermFlags {
  readonly train?: string;
  readonly rollouts?: boolean;
  readonly split?: string;
  readonly groupSizeMin?: string;
  readonly groupsMin?: string;
  readonly secondsBetween?: string;
  readonly jobsPerDay?: string;
  readonly tokensPerDay?: string;
  readonly versionAgeMax?: string;
  readonly learningRate?: string;
}

function addAddCommand(rules: Command): void {
  addTermFlags(
    addConnectionFlags(
      rules
        .command("add <project> [name]")
        .description(
          "Add a reward rule. Give it as `project/name`, or as two arguments. With --train, the rule trains a model automatically as feedback arrives, or with --rollouts, as rollouts are finished.",
        ),
    ),
  )
    .option("--train <model>", "model that the rule trains automatically")
    .option("--rollouts", "train on the model's finished rollouts instead of feedback; needs --train")
    .option("--split <name>", "with --rollouts, only rollouts of this split (default: all splits)")
    .option(
      "--group-size-min <count>",
      "with --rollouts, minimum number of finished rollouts in a group (default 2)",
    )
    .option(
      "--groups-min <count>",
      "minimum number of groups in a job, where a group is a prompt whose answers have different rewards, or a group of rollouts (default 8)",
    )
    .option(
      "--seconds-between <seconds>",
      "minimum time between two jobs in seconds (default 3600; with --rollouts 0)",
    )
    .option(
      "--jobs-per-day <count>",
      "maximum number of jobs in 24 hours (default 24; with --rollouts 10000)",
    )
    .option("--tokens-per-day <count>", "maximum number of training tokens in 24 hours (default: unlimited)")
    .option(
      "--version-age-max <count>",
      "maximum age of an answer: the number of versions of the model that are newer than the one that answered (default: unlimited)",
    )
    .option("--learning-rate <number>", "learning rate of the jobs that the rule creates")
    .option("--json", "print JSON")
    .action(async (words: string, last: string | undefined, flags: AddFlags) => {
      const { project, name } = newName(words, last);
      const client = connect(flags);
      refuseQueueFlags(flags);
      const model = flags.train === undefined ? null : (await findNamed(client, flags.train)).model;
      const standing =
        model === null
          ? {}
          : {
              standing: {
                model_id: model.id,
                ...queueOf(flags),
                ...numberOf("groups_min", flags.groupsMin),
                ...numberOf("seconds_between", flags.secondsBetween),
                ...numberOf("jobs_per_day", flags.jobsPerDay),
                ...numberOf("tokens_per_day", flags.tokensPerDay),
                ...numberOf("version_age_max", flags.versionAgeMax),
                ...configOf(flags),
              },
            };
      const place = model === null ? { project } : { entity: model.entity, project };
      const terms = flags.rollouts === true && !hasTerms(flags) ? {} : { terms: readTerms(flags) };
      const rule = await client.rules.create({ ...place, name, ...terms, ...standing });
      printResult(rule, shown(rule).join("\n"), flags);
    });
}

/** @throws ServiceError `invalid` for flags that have no effect without another flag */
function refuseQueueFlags({ train, rollouts, split, groupSizeMin }: AddFlags): void {
  if (rollouts === true && train === undefined)
    throw invalid("--rollouts needs --train <model>, the model whose rollouts the rule trains on.");
  if (rollouts !== true && (split ?? groupSizeMin) !== undefined)
    throw invalid("--split and --group-size-min apply only to --rollouts.");
}

function queueOf({ rollouts, split, groupSizeMin }: AddFlags) {
  if (rollouts !== true) return {};
  return {
    rollouts: { ...(split !== undefined && { split }), ...numberOf("group_size_min", groupSizeMin) },
  };
}

interface TrainFlags extends Flags, TermFlags {
  readonly rule?: string;
  readonly since?: string;
  readonly versionAgeMax?: string;
  readonly learningRate?: string;
}

function addTrainingCommands(rules: Command): void {
  for (const [verb, description] of [
    [
      "preview",
      "Show the answers that a job would train on, each with its reward, and the answers that it would leave out, each with the reason.",
    ],
    ["train", "Create a job that trains a model on the feedback that its answers have so far."],
  ] as const)
    addTermFlags(addConnectionFlags(rules.command(`${verb} <model>`).description(description)))
      .option(
        "--rule <rule>",
        "id or project/name of a stored rule; ignored with --terms, --reactions, --number, --annotation or --preferences",
      )
      .option("--since <time>", "only feedback created since this time. Example: `2026-01-31T00:00:00Z`")
      .option(
        "--version-age-max <count>",
        "maximum age of an answer: the number of versions of the model that are newer than the one that answered (default: unlimited)",
      )
      .option(
        "--learning-rate <number>",
        verb === "preview"
          ? "learning rate of the job that `hone rules train` would create"
          : "learning rate of the job",
      )
      .option("--json", "print JSON")
      .action(async (name: string, flags: TrainFlags) => {
        const client = connect(flags);
        const { model } = await findNamed(client, name);
        const body: FeedbackJobCreate = {
          model_id: model.id,
          ...(await ruleOf(client, flags)),
          ...(flags.since === undefined ? {} : { since: flags.since }),
          ...numberOf("version_age_max", flags.versionAgeMax),
          ...configOf(flags),
          dry_run: verb === "preview",
        };
        const job = await client.jobs.createFromFeedback(body);
        const made =
          job.id === null ? "No job was created: there is nothing to train on." : `${job.id} queued`;
        const lines = [...previewLines(job), ...(verb === "preview" ? [] : ["", made])];
        printResult(job, lines.join("\n"), flags);
      });
}

async function ruleOf(client: Hone, flags: TrainFlags): Promise<Pick<FeedbackJobCreate, "rule" | "rule_id">> {
  if (flags.rule === undefined || hasTerms(flags)) return { rule: { terms: readTerms(flags) } };
  return { rule_id: (await findRule(client, flags.rule)).id };
}

/** Returns a request field for a flag; nothing if the flag is not given. The server refuses invalid numbers. */
function numberOf<Name extends string>(
  name: Name,
  flag: string | undefined,
): { readonly [N in Name]?: number } {
  // Safe cast: the computed key is `Name`.
  return (flag === undefined ? {} : { [name]: Number(flag) }) as { readonly [N in Name]?: number };
}

function configOf({ learningRate }: { readonly learningRate?: string }) {
  return learningRate === undefined ? {} : { experimental_config: { learning_rate: Number(learningRate) } };
}

function listed({ id, project, name, terms, standing, state }: RewardRule) {
  return {
    id,
    rule: `${project}/${name}`,
    terms: standing?.rollouts ? "rollouts" : terms.map(({ kind }) => kind).join(" "),
    trains: standing?.model_id ?? null,
    status: state?.status ?? null,
  };
}

function shown({ id, entity, project, name, terms, state }: RewardRule): readonly string[] {
  const lines = [
    `${entity}/${project}/${name}  ${id}`,
    ...terms.map((term) => `  ${Object.values(term).map(plain).filter(Boolean).join(" ")}`),
  ];
  if (state === null) return [...lines, "It trains on demand (`hone rules train`)."];
  const next = state.next_job_at === null ? [] : [`Its next job starts at ${state.next_job_at} or later.`];
  return [
    ...lines,
    `${state.status}: ${state.reason}`,
    ...next,
    `${state.groups_ready} of ${state.groups_min} groups; ${state.jobs_last_day} jobs and ${state.tokens_last_day} tokens in the last 24 hours.`,
  ];
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
