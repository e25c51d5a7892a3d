// `hone annotate`: judge the items of a queue in the terminal, one key per answer.
import type { Command } from "commander";
import { AnnotationSession } from "../../client/annotating/annotation-session.ts";
import type { QuestionAgreement } from "../../client/api.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { addConnectionFlags, connect, printResult, type ConnectionFlags } from "../connection.ts";
import { LiveScreen } from "../watch/live-screen.ts";
import { agreementLines } from "./agreement-lines.ts";
import { renderAnnotation } from "./annotate-view.ts";
import { findQueue } from "./find-queue.ts";
import { keysOf } from "./read-keys.ts";
import { runAnnotation } from "./run-annotation.ts";

interface AnnotateFlags extends ConnectionFlags {
  readonly as?: string;
  readonly json?: boolean;
}

const about = `
The command shows the conversation of each item, and asks the questions of the queue. Press 1 to 9 to select a choice, y or
n for yes or no, or a digit for a number in a range. Enter starts and ends a typed answer. s skips the item, u undoes the
last answer, the arrow keys scroll, and q quits.

While you answer an item, the server reserves it for you, so that nobody else gets it. When you quit, the item is released.`;

export function addAnnotateCommand(program: Command): void {
  addConnectionFlags(
    program
      .command("annotate <queue>")
      .description(
        "Answer the questions of an annotation queue (project/name), item by item, with one keystroke per answer.",
      ),
  )
    .option("--as <name>", "name of the annotator (default: the owner of the key)")
    .option("--json", "print a summary and the agreement between annotators as JSON at the end")
    .addHelpText("after", about)
    .action(async (name: string, flags: AnnotateFlags) => {
      const client = connect(flags);
      const queue = await findQueue(client, name);
      const session = await AnnotationSession.begin(client.queues, queue, { annotator: flags.as });
      // With --json, standard output contains only the JSON, so the screen is drawn on standard error.
      const terminal = flags.json === true ? process.stderr : process.stdout;
      const screen = new LiveScreen(terminal);
      try {
        await runAnnotation({
          session,
          keys: keysOf(process.stdin),
          clock: systemClock,
          show: (view) => {
            const { columns, rows } = terminal.isTTY ? terminal : noTerminal;
            screen.show(renderAnnotation(view, { columns, rows }));
          },
        });
      } finally {
        screen.end();
      }
      const { annotator, answeredCount, skippedCount } = session.state;
      const agreement = await client.queues.agreement(queue);
      const [stats] = await client.queues.stats({ project_id: queue.project_id, queue_ids: [queue.id] });
      const done = { annotator, answered: answeredCount, skipped: skippedCount, ...stats, agreement };
      printResult(done, linesOf(done).join("\n"), flags);
    });
}

/** Terminal size that is assumed if the output is not a terminal, as in tests. */
const noTerminal = { columns: 80, rows: 24 };

function linesOf(done: {
  readonly answered: number;
  readonly skipped: number;
  readonly total_items?: number;
  readonly completed_items?: number;
  readonly agreement: readonly QuestionAgreement[];
}): readonly string[] {
  const { answered, skipped, total_items: total = 0, completed_items: completed = 0, agreement } = done;
  return [
    `${answered} answered, ${skipped} skipped; the queue has ${completed} of ${total} items complete`,
    ...agreementLines(agreement),
  ];
}
