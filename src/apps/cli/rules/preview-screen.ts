// Formats the preview of a job from feedback: a histogram of the rewards, the answers of the first groups, and the
// feedback that is left out.
import { counted } from "../../../base/domain/text/counted.ts";
import type { FeedbackJob } from "../../client/api.ts";
import { costText } from "../../client/cost-text.ts";
import { drawBar } from "../demo/draw-curve.ts";

const [barWidth, binCount, groupsShown, textLength] = [30, 10, 5, 60];

/** Returns the lines of the preview. */
export function previewLines({
  counts,
  reasons,
  groups,
  left_out: leftOut,
  ...job
}: FeedbackJob): readonly string[] {
  const { feedback, answers, compared, people, tokens } = counts;
  const beside = compared === 0 ? "" : `, ${compared} more for comparison`;
  const lines = [
    `${counted(counts.groups, "group")}, ${counted(answers, "trainable answer")}${beside}, ${counted(tokens, "token")}; ${counted(feedback, "record")} of feedback, ${peopleText(people)}`,
  ];
  lines.push(...costLines({ ...job, counts }));
  const rewards = groups.flatMap((group) => group.answers.map(({ reward }) => reward));
  if (rewards.length > 0) lines.push("", "rewards", ...histogram(rewards));
  for (const group of groups.slice(0, groupsShown)) {
    lines.push("", shortened(group.prompt));
    for (const answer of group.answers) {
      const used = answer.use === "compared" ? "  (already trained)" : "";
      lines.push(
        `  ${answer.reward.toFixed(2).padStart(5)}  ${peopleText(answer.people)}  ${shortened(answer.text)}${used}`,
      );
    }
  }
  if (groups.length > groupsShown)
    lines.push("", `and ${counted(counts.groups - groupsShown, "more group")}`);
  return [...lines, ...leftOutLines({ counts: counts.left_out, reasons, leftOut })];
}

/** Returns a line with the estimated cost of a job; no line if the server has no prices. */
export function costLines({
  counts,
  ...job
}: Pick<FeedbackJob, "cost" | "currency"> & {
  readonly counts: Pick<FeedbackJob["counts"], "trained_tokens">;
}): readonly string[] {
  const cost = costText(job);
  const tokens = counted(counts.trained_tokens, "answer token");
  return cost === null ? [] : [`estimated cost ${cost} (${tokens} per pass)`];
}

/** Returns lines that count the left-out feedback by reason; no lines if all feedback is used. */
export function leftOutLines({
  counts,
  reasons,
  leftOut,
}: Pick<FeedbackJob, "reasons"> & {
  readonly counts: FeedbackJob["counts"]["left_out"];
  readonly leftOut: readonly Pick<FeedbackJob["left_out"][number], "reason" | "reference">[];
}): readonly string[] {
  const found = Object.entries(counts);
  const lines = found.flatMap(([reason, count]) => {
    const example = leftOut.find((item) => item.reason === reason);
    return [
      `  ${String(count).padStart(5)}  ${reason}: ${reasons[reason] ?? ""}`,
      ...(example === undefined ? [] : [`         for example ${example.reference}`]),
    ];
  });
  return lines.length === 0 ? [] : ["", "left out", ...lines];
}

export function peopleText(count: number): string {
  return counted(count, "person", "people");
}

/** Returns lines with bins from the least to the greatest reward; equal rewards share one bin. */
function histogram(rewards: readonly number[]): readonly string[] {
  const [least, greatest] = [Math.min(...rewards), Math.max(...rewards)];
  const width = (greatest - least) / binCount;
  const bins = Array.from({ length: width === 0 ? 1 : binCount }, () => 0);
  for (const reward of rewards)
    bins[Math.min(bins.length - 1, Math.floor((reward - least) / (width || 1)))] += 1;
  const most = Math.max(...bins);
  return bins.map((count, bin) => {
    const from = (least + bin * width).toFixed(2);
    return `  ${from.padStart(6)} ▕${drawBar(count / most, barWidth)}▏ ${count}`;
  });
}

/** Returns the text on one line, cut to the maximum length. */
export function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > textLength ? `${line.slice(0, textLength - 3)}...` : line;
}
