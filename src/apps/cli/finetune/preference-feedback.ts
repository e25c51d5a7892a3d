// Training on preferences that come from feedback on a model's recorded answers: the flags that select the feedback,
// and the preview of the training data.
import { counted } from "../../../base/domain/text/counted.ts";
import type { FeedbackPreferenceJob, FeedbackPreferenceJobCreate } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { printResult } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findRule } from "../rules/find-rule.ts";
import { costLines, leftOutLines, peopleText, shortened } from "../rules/preview-screen.ts";
import { hasTerms, readTerms, type TermFlags } from "../rules/term-flags.ts";

export interface FeedbackFlags extends JsonFlag, TermFlags {
  readonly rule?: string;
  /** Feedback that contains corrected answers, as `type:path`; true if the flag is given without a value. */
  readonly corrections?: string | true;
  readonly since?: string;
  readonly versionAgeMax?: string;
  readonly dryRun?: boolean;
}

/** True if any of the flags that select feedback is given. */
export function asksForFeedback(flags: FeedbackFlags): boolean {
  const { rule, corrections, since, versionAgeMax, dryRun } = flags;
  return (
    hasTerms(flags) || [rule, corrections, since, versionAgeMax, dryRun].some((flag) => flag !== undefined)
  );
}

/**
 * Creates a job from feedback, or with --dry-run only previews its data, and prints the result.
 *
 * @returns the job's id; null if no job was created
 */
export async function trainOnFeedback(
  client: Hone,
  body: Pick<FeedbackPreferenceJobCreate, "model_id" | "config">,
  flags: FeedbackFlags,
): Promise<string | null> {
  const { corrections, since, versionAgeMax, dryRun = false } = flags;
  const job = await client.jobs.createPreferenceFromFeedback({
    ...body,
    ...(await ruleOf(client, flags)),
    ...(corrections === undefined ? {} : { corrections: correctionsIn(corrections) }),
    ...(since === undefined ? {} : { since }),
    ...(versionAgeMax === undefined ? {} : { version_age_max: Number(versionAgeMax) }),
    dry_run: dryRun,
  });
  const made = job.id === null ? "No job was created: there is nothing to train on." : `${job.id} queued`;
  printResult(job, [...preferenceLines(job), ...(dryRun ? [] : ["", made])].join("\n"), flags);
  return job.id;
}

async function ruleOf(
  client: Hone,
  flags: FeedbackFlags,
): Promise<Pick<FeedbackPreferenceJobCreate, "rule" | "rule_id">> {
  if (hasTerms(flags)) return { rule: { terms: readTerms(flags) } };
  return flags.rule === undefined ? {} : { rule_id: (await findRule(client, flags.rule)).id };
}

/** Parses `type:path`, `type` or `:path`. */
function correctionsIn(flag: string | true): NonNullable<FeedbackPreferenceJobCreate["corrections"]> {
  if (flag === true) return {};
  const colon = flag.lastIndexOf(":");
  const [type, path] = colon < 0 ? [flag, ""] : [flag.slice(0, colon), flag.slice(colon + 1)];
  return { ...(type === "" ? {} : { feedback_type: type }), ...(path === "" ? {} : { path }) };
}

const pairsShown = 8;

/** Returns lines with the counts, the first pairs, and the feedback that is left out. */
export function preferenceLines({
  counts,
  reasons,
  pairs,
  left_out: leftOut,
  ...job
}: FeedbackPreferenceJob): readonly string[] {
  const corrected = counts.corrections === 0 ? "" : `, ${counts.corrections} of them corrections`;
  // KTO trains on single labelled answers instead of pairs.
  const items = pairs.some(({ chosen, rejected }) => chosen === null || rejected === null)
    ? counted(counts.pairs, "answer")
    : `${counted(counts.pairs, "pair")} of answers`;
  const lines = [
    `${items} to ${counted(counts.prompts, "prompt")}${corrected}; ${counted(counts.feedback, "record")} of feedback, ${peopleText(counts.people)}`,
    ...costLines({ ...job, counts }),
  ];
  let shown = "";
  for (const { prompt, chosen, rejected } of pairs.slice(0, pairsShown)) {
    if (prompt !== shown) lines.push("", shortened(prompt));
    shown = prompt;
    if (chosen !== null) lines.push(`  + ${shownSide(chosen)}`);
    if (rejected !== null) lines.push(`  - ${shownSide(rejected)}`);
  }
  if (counts.pairs > pairsShown) lines.push("", `and ${counts.pairs - pairsShown} more`);
  return [...lines, ...leftOutLines({ counts: counts.left_out, reasons, leftOut })];
}

function shownSide({
  text,
  reward,
  correction,
}: NonNullable<FeedbackPreferenceJob["pairs"][number]["chosen"]>): string {
  const beside = correction ? "corrected" : reward === null ? "" : reward.toFixed(2);
  return `${beside.padStart(9)}  ${shortened(text)}`;
}
