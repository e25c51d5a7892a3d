// Renders the annotator's screen as lines that fit the terminal: the conversation, the question and the keys. Pure.
import { answerKeys, sessionKeys, formatAnswer } from "../../client/annotating/answer-keys.ts";
import { type HeldItem, progressOf, type SessionState } from "../../client/annotating/annotation-session.ts";
import { printable, wrapped } from "../chat/display-width.ts";
import { drawBar } from "../demo/draw-curve.ts";
import type { TerminalSize } from "../watch/job-view.ts";

export interface AnnotateView {
  readonly state: SessionState;
  /** Answer typed so far; null unless the annotator is typing an answer. */
  readonly typed: string | null;
  /** Number of conversation lines above the visible part. */
  readonly scrolled: number;
  /** Error message to show; null if there is none. */
  readonly notice: string | null;
}

/**
 * Returns the lines of the screen. No line is wider than the terminal, and their number is smaller than the terminal's
 * number of rows.
 */
export function renderAnnotation(view: AnnotateView, { columns, rows }: TerminalSize): readonly string[] {
  const width = columns - 1;
  const head = wrapped(headOf(view.state, width), width);
  const foot = footOf(view).flatMap((line) => wrapped(line, width));
  const rule = "─".repeat(width);
  if (view.state.held === null) return [...head, rule, ...foot].slice(0, rows - 1);
  const body = linesOf(view.state.held, width);
  // Leaves the terminal's last row empty, since a line break there would scroll the screen.
  const room = Math.max(1, rows - 1 - head.length - foot.length - 2);
  const first = Math.min(view.scrolled, Math.max(0, body.length - room));
  const shown = body.slice(first, first + room);
  const more = body.length - first - shown.length;
  const below = more > 0 ? `─ ${more} more lines, arrows scroll ${rule}`.slice(0, width) : rule;
  return [...head, rule, ...shown, below, ...foot].slice(0, rows - 1);
}

function headOf(state: SessionState, width: number): string {
  const { done, skipped, total } = progressOf(state);
  const skips = skipped === 0 ? "" : `, ${skipped} skipped`;
  const counted = ` ${done} of ${total}${skips}  ${printable(state.queue.name)}  ${printable(state.annotator)}`;
  const bar = Math.max(8, Math.min(30, width - counted.length - 2));
  return `▕${drawBar(total === 0 ? 1 : done / total, bar)}▏${counted}`;
}

/** Returns all lines of an item's conversation, wrapped to `width` cells. */
export function linesOf({ item, content }: HeldItem, width: number): readonly string[] {
  const turn = (name: string, text: string): readonly string[] => [
    printable(name),
    ...wrapped(printable(text), width - 2).map((line) => `  ${line}`.trimEnd()),
  ];
  if (content === null)
    return wrapped(
      `This server has no recording of ${printable(item.vendor_ref)}: view it where it is stored, and judge it here.`,
      width,
    );
  return [
    ...content.messages.flatMap(({ role, text }) => turn(role, text)),
    ...content.answers.flatMap(({ text, reasoning, calls }, index) => {
      const name = content.answers.length === 1 ? "answer" : `answer ${index + 1}`;
      return [
        ...(reasoning === "" ? [] : turn(`${name}, thoughts`, reasoning)),
        ...(text === "" && calls.length > 0 ? [] : turn(name, text)),
        ...calls.flatMap((call) => turn(`${name} calls ${call.name}`, call.arguments)),
      ];
    }),
  ];
}

function footOf({ state, typed, notice }: AnnotateView): readonly string[] {
  const { held, question, questionIndex, queue, remaining, canUndo } = state;
  const said = notice === null ? [] : [printable(notice)];
  const { leaveOut, skip, undo, quit } = sessionKeys;
  const back = canUndo ? `${undo} undo  ` : "";
  if (held === null) return [waitingText(remaining), ...said, `${back}enter check again  ${quit} quit`];
  if (question === null)
    return ["This queue has no questions.", ...said, `enter done  ${skip} skip  ${back}${quit} quit`];
  const place = queue.asked.length === 1 ? "" : `  (${questionIndex + 1} of ${queue.asked.length})`;
  const keys = answerKeys(question);
  const answers =
    keys?.map(({ key, label }) => (label === "" ? key : `${key} ${printable(label)}`)).join("   ") ??
    typedText(question, typed);
  const without = question.optional ? `${leaveOut} leave unanswered  ` : "";
  const help = typed === null ? `${without}${skip} skip  ${back}${quit} quit` : "enter send  escape cancel";
  return [`${printable(question.text)}${place}`, answers, ...said, help];
}

function waitingText({ open, held }: SessionState["remaining"]): string {
  if (open === 0) return "No items left.";
  return `The last ${held === 1 ? "item is" : `${held} items are`} leased to other annotators; a released item appears here.`;
}

function typedText({ kind, choices }: NonNullable<SessionState["question"]>, typed: string | null): string {
  if (typed !== null) return `> ${printable(typed)}▏`;
  if (kind === "choice")
    return `enter to type one of: ${(choices ?? []).map((choice, index) => `${index + 1} ${printable(formatAnswer(choice))}`).join("   ")}`;
  const what = { integer: "a whole number", number: "a number", text: "a text", json: "an answer" } as const;
  return `enter to type ${kind === "boolean" ? "yes or no" : what[kind]}`;
}
