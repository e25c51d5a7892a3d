// Shows the demo's progress. On a terminal, it redraws a curve after each job. In other outputs, it prints one bar per
// job.
import { seededRandom } from "../../../base/domain/random.ts";
import { drawBar, drawCurve } from "./draw-curve.ts";
import type { DemoEvent, DemoPoint, DemoResult, DemoSample } from "./run-demo.ts";
import type { DemoTask } from "./tasks/task.ts";

export interface DemoScreenOptions {
  readonly task: DemoTask;
  /** Name of the model to train. */
  readonly baseModel: string;
  readonly seed: number;
  readonly jobCountMax: number;
  readonly output: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly isSilent: boolean;
}

export interface DemoScreen {
  begin(): void;
  show(event: DemoEvent): void;
  end(result: DemoResult): void;
}

const plotHeight = 11;

/** Maximum length of a question that is shown, in characters. */
const textLengthMax = 96;

export function createDemoScreen(options: DemoScreenOptions): DemoScreen {
  const { task } = options;
  const points: DemoPoint[] = [];
  const print = (line: string): void => {
    if (!options.isSilent) options.output.write(`${line}\n`);
  };
  let drawnLineCount = 0;

  const drawPoint = (point: DemoPoint): void => {
    points.push(point);
    const status = statusOf(point, task);
    if (options.output.isTTY !== true || options.isSilent) {
      print(`▕${drawBar(point[task.curve.of], 30)}▏ ${status}`);
      return;
    }
    const curve = drawCurve(
      points.map((one) => one[task.curve.of]),
      {
        height: plotHeight,
        stride: 4,
        min: task.curve.from,
        max: 1,
        target: task.targets[task.curve.of],
        pointCountMax: options.jobCountMax + 1,
      },
    );
    if (drawnLineCount > 0) options.output.write(`\u001b[${drawnLineCount}A\u001b[J`);
    const lines = [task.curve.title, ...curve, status];
    for (const line of lines) print(line);
    drawnLineCount = lines.length;
  };

  return {
    begin: () => {
      const { groupSize } = task.sampling;
      print(`Teaching ${options.baseModel} to ${task.aim} (seed ${options.seed}).`);
      if (task.lessons !== undefined)
        print("The first job is supervised: it trains on example conversations.");
      print(
        `Each job: ${task.practice(seededRandom("count")).length} questions x ${groupSize} answers, judged, followed by one training job over HTTP.`,
      );
      print(`Rewards: ${task.scoring}.`);
      print(
        `Below, "sampled" is the mean reward of these answers, and "${task.testedOn}" that of the most probable answers to the test questions. Job 0 is before training.\n`,
      );
    },
    show: (event) => {
      if (event.kind === "point") drawPoint(event.point);
      else printSamples(event.when, event.samples, print);
    },
    end: ({ hasLearned, points: all }) => {
      const [first, last] = [all[0], all.at(-1)];
      if (first === undefined || last === undefined) return;
      print(
        `\n${hasLearned ? "Learned" : "Not learned"} in ${last.jobCount} jobs and ${(last.elapsedMs / 1000).toFixed(1)} s: ` +
          `sampled reward ${first.sampledReward.toFixed(2)} -> ${last.sampledReward.toFixed(2)}, ${task.testedOn} ${first.testReward.toFixed(2)} -> ${last.testReward.toFixed(2)}.`,
      );
    },
  };
}

function statusOf(point: DemoPoint, { testedOn }: DemoTask): string {
  return (
    `job ${String(point.jobCount).padStart(2)}  sampled ${point.sampledReward.toFixed(3)}` +
    `  ${testedOn} ${point.testReward.toFixed(3)}  ${(point.elapsedMs / 1000).toFixed(1)} s`
  );
}

function printSamples(
  when: "before" | "after",
  samples: readonly DemoSample[],
  print: (line: string) => void,
): void {
  print(when === "before" ? "Before:" : "\nAfter:");
  for (const { text, answer } of samples) print(`  ${shortened(text)}  ->  ${JSON.stringify(answer)}`);
  if (when === "before") print("");
}

function shortened(text: string): string {
  return text.length > textLengthMax ? `${text.slice(0, textLengthMax - 3).trimEnd()}...` : text;
}
