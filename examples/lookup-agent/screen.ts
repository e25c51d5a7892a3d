// The example's terminal output: a line for each stage, sample conversations, and the final curve.
import { drawBar, drawCurve } from "../../src/apps/cli/demo/draw-curve.ts";
import type { Message } from "../../src/apps/client/api.ts";
import { rewardOf } from "./episode.ts";
import type { LearnEvent, Point } from "./learn.ts";

/** Returns the lines that show an event. */
export function linesOf(event: LearnEvent): readonly string[] {
  return event.kind === "point" ? [pointLine(event.point)] : [episodeLine(event)];
}

function nameOf(stage: Point["stage"]): string {
  if (stage === "base") return "base model";
  return stage === "taught" ? "taught" : `round ${stage}`;
}

function pointLine({ stage, sampledReward, testReward, testRight, elapsedMs }: Point): string {
  const sampled = sampledReward === null ? "        " : `tries ${sampledReward.toFixed(2)}`.padEnd(10);
  return (
    `${nameOf(stage).padEnd(10)} ▕${drawBar(testReward, 24)}▏ test ${testReward.toFixed(2)}  ` +
    `right ${Math.round(100 * testRight)} %  ${sampled}  ${(elapsedMs / 1000).toFixed(0)} s`
  );
}

/** Returns a conversation as one line: the question, the agent's calls with their results, its answer, and the reward. */
function episodeLine({ of, episode }: Extract<LearnEvent, { readonly kind: "example" }>): string {
  const said = episode.messages
    .slice(1)
    .map((message) => (message.role === "assistant" ? agentLine(message) : `= ${textOf(message)}`));
  const steps = said.join("  ").replaceAll("\n", " ");
  return `  ${of.padEnd(6)} ${episode.question.text}  ${steps}   (reward ${rewardOf(episode).toFixed(2)})`;
}

function textOf({ content }: Message): string {
  return typeof content === "string" ? content : "";
}

function agentLine(message: Message): string {
  const text = textOf(message);
  const written = (message.tool_calls ?? []).map(
    ({ function: called }) => `${String(called?.name)}${String(called?.arguments)}`,
  );
  return [...(text === "" ? [] : [JSON.stringify(text)]), ...written].join(" ");
}

/** Returns the curve of the test reward over the stages, and a summary. */
export function summaryLines(points: readonly Point[]): readonly string[] {
  const curve = drawCurve(
    points.map(({ testReward }) => testReward),
    { height: 11, stride: 4, min: 0, max: 1, target: 0.9, pointCountMax: points.length },
  );
  const [base, taught] = points;
  const last = points.at(-1);
  if (base === undefined || taught === undefined || last === undefined) return curve;
  return [
    "",
    "mean reward of the test (0: base model, 1: after the supervised job, then after each round of reinforcement learning)",
    ...curve,
    "",
    `Test reward ${base.testReward.toFixed(2)} at first, ${taught.testReward.toFixed(2)} taught by conversations, ` +
      `${last.testReward.toFixed(2)} after ${points.length - 2} rounds; right answers ${percent(base)}, ${percent(taught)}, ${percent(last)}.`,
  ];
}

function percent({ testRight }: Point): string {
  return `${Math.round(100 * testRight)} %`;
}
