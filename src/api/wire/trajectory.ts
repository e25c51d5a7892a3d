// Checks trajectories that clients record, and converts them from and to the API's form. Unknown keys are kept.
// Messages are hardly checked, because clients send back what models have sent them.
import { Type, type Static, type TSchema } from "typebox";
import type { Json, JsonObject } from "../../base/domain/text/json.ts";
import type {
  History,
  HistoryItem,
  Trajectory,
  TrajectoryGroup,
  TrajectoryLog,
} from "../../base/domain/trajectory.ts";
import { foldedLine } from "../../base/domain/text/folded-lines.ts";
import { check } from "../../base/validation/check.ts";
import {
  eachObject,
  isAtFaultLimit,
  isObject,
  report,
  type Findings,
} from "../../base/validation/findings.ts";
import { parseListBody, type ListBody } from "../../base/validation/list-body.ts";
import type { BodyLimits } from "./body-limits.ts";
import { readForm, type BodyForm, type Checked, type ObjectSchema, type ValueOf } from "./body.ts";
import { answerOf } from "./fields/resource.ts";
import { nullable } from "./nullable.ts";
import { pageSchema } from "./page.ts";
import { LinePacker, type PackedLines, OutlinePacker } from "./packed-lines.ts";

const open = { additionalProperties: true };
const anyObject = Type.Object({}, open);
const metrics = Type.Object(
  {},
  { additionalProperties: Type.Union([Type.Number({ title: "float" }), Type.Boolean({ title: "bool" })]) },
);

/** Log-probability of a recorded token. Training computes in float32, in which a smaller value would be infinite. */
const logprob = Type.Number({ minimum: -3.4028234663852886e38 });
const logprobList = Type.Array(
  Type.Object(
    {
      token: Type.String({ description: "The token's text, or `token_id:<N>`." }),
      logprob: nullable(logprob, {
        description: "Natural logarithm of the token's probability; null if unknown.",
      }),
    },
    open,
  ),
);
const tokenIds = Type.Array(Type.Integer({ minimum: 0 }));

const asInChat =
  "Value of the field of the same name in the chat request. It affects how the prompt is rendered, so training needs the same value.";

/**
 * Prompt options of the recorded request. Each Choice may have its own, or the trajectory has them for all its Choices.
 */
export const promptFields = {
  documents: nullable(Type.Array(anyObject), { description: asInChat }),
  chat_template: nullable(Type.String(), { description: asInChat }),
  chat_template_kwargs: nullable(anyObject, { description: asInChat }),
  reasoning_effort: nullable(Type.String(), { description: asInChat }),
  add_generation_prompt: nullable(Type.Boolean(), { description: asInChat }),
  continue_final_message: nullable(Type.Boolean(), { description: asInChat }),
  add_special_tokens: nullable(Type.Boolean(), { description: asInChat }),
  truncate_prompt_tokens: nullable(Type.Integer(), { description: asInChat }),
};

/** Fields of a recorded Choice, besides those of a message. */
export const choiceFields = {
  message: nullable(anyObject, {
    description:
      "In a Choice: the message as it was returned. An item with `message` and `finish_reason` is a Choice.",
  }),
  logprobs: nullable(
    Type.Object(
      {
        content: nullable(logprobList, { description: "One entry per answer token." }),
        refusal: nullable(logprobList, {
          description: "Accepted without effect: a member of OpenAI's answers.",
        }),
      },
      open,
    ),
    { description: "In a Choice: the answer's tokens and their log-probabilities, as returned." },
  ),
  token_ids: nullable(tokenIds, { description: "In a Choice: token ids of the answer, as returned." }),
  prompt_token_ids: nullable(tokenIds, { description: "In a Choice: token ids of the prompt, as returned." }),
  ...promptFields,
};

/** Schema for items that are messages or recorded Choices. `checkGroup` adds a fault if an item is neither. */
const historyItem = Type.Object(
  {
    role: Type.Optional(
      Type.String({ description: "In a message: role of its author. An item with a role is a message." }),
    ),
    ...choiceFields,
  },
  { ...open, title: "MessageOrChoice" },
);
const historyItems = Type.Array(historyItem, {
  description: "The conversation, oldest first: messages, and a Choice for each answer of the model.",
});
const tools = nullable(Type.Array(anyObject), { description: "Tools of the chat requests." });

export const trajectorySchema = Type.Object(
  {
    messages_and_choices: Type.Optional(historyItems),
    tools,
    additional_histories: nullable(
      Type.Array(Type.Object({ messages_and_choices: historyItems, tools }, { ...open, title: "History" })),
      { description: "Further conversations of the trajectory, which get the same reward." },
    ),
    reward: Type.Optional(
      Type.Number({ default: 0, description: "Reward of the trajectory, which applies to all its answers." }),
    ),
    initial_policy_version: nullable(Type.Integer(), {
      description: "Version of the model when the trajectory started.",
    }),
    final_policy_version: nullable(Type.Integer(), {
      description: "Version of the model when the trajectory ended.",
    }),
    metrics: nullable(metrics, {
      default: {},
      description:
        "Metrics of the trajectory, by name. For a log, the server reports their means over the trajectories.",
    }),
    auto_metrics: nullable(metrics, { description: "Further metrics, stored and returned unchanged." }),
    metadata: nullable(anyObject, {
      default: {},
      description:
        "Metadata of the trajectory. For a log, the server counts the distinct values of `scenario_id`.",
    }),
    logs: nullable(Type.Array(Type.Unknown()), {
      default: [],
      description: "Lines of text, such as log lines, which are stored and returned unchanged.",
    }),
    start_time: nullable(Type.String({ format: "date-time" }), {
      description: "Time at which the trajectory started.",
    }),
    ...promptFields,
  },
  { ...open, title: "Trajectory" },
);

export const trajectoryGroupSchema = Type.Object(
  {
    trajectories: Type.Array(trajectorySchema, {
      description:
        "Attempts at the same problem; the rewards of these attempts are compared with each other.",
    }),
    exceptions: nullable(Type.Array(anyObject), { default: [], description: "Attempts that failed to run." }),
    metadata: nullable(anyObject, {
      default: {},
      description: "Metadata of the group, stored and returned unchanged.",
    }),
    metrics: nullable(metrics, { default: {}, description: "Metrics of the group, by name." }),
    logs: nullable(Type.Array(Type.Unknown()), {
      default: [],
      description: "Lines of text, such as log lines, which are stored and returned unchanged.",
    }),
  },
  { ...open, title: "TrajectoryGroup" },
);

/** The type TSchema hides the types of the members: this module checks them itself. */
const groupSchema: TSchema = trajectoryGroupSchema;

type HistoryBody = {
  readonly messages_and_choices?: Static<typeof historyItems>;
  readonly tools?: Static<typeof tools>;
};

/** Callbacks for reading a body with trajectory groups. */
export interface GroupVisitor {
  /** Called with each group, in order, until the first fault is found. */
  readonly onGroup?: (group: TrajectoryGroup) => void;
  /**
   * Adds faults of a history item that its schema cannot detect. The item is an object, and the current path of
   * `findings` is the path of the item.
   */
  readonly checkItem?: (item: Readonly<Record<string, unknown>>, findings: Findings) => void;
}

/**
 * Reads a body with trajectory groups, one group at a time, and checks it against its form.
 *
 * @returns the body without the groups, the groups as folded lines for storage, and the summaries of their trajectories
 * @throws ServiceError `invalid` with every fault of the body and its groups
 */
export function readGroupBody<Schema extends ObjectSchema>(
  form: BodyForm<Schema>,
  bytes: Buffer,
  limits: BodyLimits,
  { onGroup = () => undefined, checkItem = () => undefined }: GroupVisitor = {},
): Checked<ValueOf<Schema>> & { readonly lines: PackedLines; readonly outlines: PackedLines } {
  const { trajectoryGroups: countMax, trajectoryJson } = limits;
  const list = parseListBody(bytes, { member: "trajectory_groups", itemsMax: countMax }, trajectoryJson);
  const lines = new LinePacker();
  const outlines = new OutlinePacker();
  const result = readForm(form, list.rest, (findings) =>
    readGroups(list, findings, {
      countMax,
      checkItem,
      onGroup: (group) => {
        const parts = [...foldedLine(JSON.stringify(group))];
        for (const part of parts) lines.add(part);
        outlines.add(group, parts.length);
        onGroup(group);
      },
    }),
  );
  return { ...result, lines: lines.packed(), outlines: outlines.packed() };
}

/**
 * Checks the groups in `trajectory_groups` one by one. Until the first fault, calls `onGroup` with each valid group.
 *
 * @param countMax maximum number of groups
 */
function readGroups(
  { items, itemCount }: Pick<ListBody, "items" | "itemCount">,
  findings: Findings,
  { countMax, onGroup, checkItem }: { readonly countMax: number } & Required<GroupVisitor>,
): void {
  if (itemCount > countMax) {
    const message = `The list has ${itemCount} groups; at most ${countMax} are allowed at a time. Send them in several parts.`;
    return report(findings, "too_long", message, "trajectory_groups");
  }
  let index = 0;
  for (const item of items) {
    findings.path.push("trajectory_groups", String(index));
    check(groupSchema, item, findings);
    checkGroup(item, findings, checkItem);
    findings.path.length -= 2;
    index += 1;
    if (isAtFaultLimit(findings)) return;
    // Safe cast: the check against the schema found no fault.
    if (findings.faultCount === 0) onGroup(toTrajectoryGroup(item as Static<typeof trajectoryGroupSchema>));
  }
}

/**
 * Adds faults that the schema cannot detect: an item that is neither a message nor a Choice, and the unsupported field
 * `exchanges`.
 */
function checkGroup(
  group: unknown,
  findings: Findings,
  checkItem: Required<GroupVisitor>["checkItem"],
): void {
  if (!isObject(group)) return;
  eachObject(group["trajectories"], (trajectory, index) => {
    const place = ["trajectories", index];
    if (Object.hasOwn(trajectory, "exchanges") && trajectory["exchanges"] !== null) {
      const message =
        "Trajectories made of `exchanges` are not supported by this server; send `messages_and_choices` instead.";
      report(findings, "value_error", message, ...place, "exchanges");
    }
    const checkHistory = (history: Readonly<Record<string, unknown>>, at: readonly string[]): void =>
      eachObject(history["messages_and_choices"], (item, itemIndex) => {
        const itemPlace = [...at, "messages_and_choices", itemIndex];
        requireKind(item, itemPlace, findings);
        findings.path.push(...itemPlace);
        checkItem(item, findings);
        findings.path.length -= itemPlace.length;
      });
    checkHistory(trajectory, place);
    eachObject(trajectory["additional_histories"], (history, historyIndex) =>
      checkHistory(history, [...place, "additional_histories", historyIndex]),
    );
  });
}

function requireKind(
  item: Readonly<Record<string, unknown>>,
  place: readonly string[],
  findings: Findings,
): void {
  const isChoice = isObject(item["message"]) && Object.hasOwn(item, "finish_reason");
  if (isChoice || Object.hasOwn(item, "role")) return;
  if (Object.hasOwn(item, "finish_reason"))
    return report(findings, "missing", "Field required: the message that a Choice is", ...place, "message");
  const message = "Input should be a message (with `role`) or a Choice (with `message` and `finish_reason`)";
  report(findings, "missing", message, ...place);
}

/** Converts a checked group to the domain's form. */
function toTrajectoryGroup(body: Static<typeof trajectoryGroupSchema>): TrajectoryGroup {
  const { trajectories, exceptions, metadata, metrics: groupMetrics, logs, ...extra } = body;
  return {
    trajectories: trajectories.map(toTrajectory),
    // Safe cast: parsed from JSON.
    exceptions: (exceptions ?? []) as readonly JsonObject[],
    metadata: (metadata ?? {}) as JsonObject,
    metrics: (groupMetrics ?? {}) as TrajectoryGroup["metrics"],
    logs: (logs ?? []) as readonly Json[],
    extra,
  };
}

function toTrajectory(body: Static<typeof trajectorySchema>): Trajectory {
  const {
    messages_and_choices: items,
    tools: toolList,
    additional_histories: histories,
    reward,
    initial_policy_version: initialPolicyVersion,
    final_policy_version: finalPolicyVersion,
    metrics: trajectoryMetrics,
    metadata,
    logs,
    start_time: startTime,
    ...extra
  } = body;
  return {
    ...toHistory({ messages_and_choices: items, tools: toolList }),
    additionalHistories: (histories ?? []).map(toHistory),
    reward: reward ?? 0,
    initialPolicyVersion: initialPolicyVersion ?? null,
    finalPolicyVersion: finalPolicyVersion ?? null,
    metrics: (trajectoryMetrics ?? {}) as Trajectory["metrics"],
    metadata: (metadata ?? {}) as JsonObject,
    logs: (logs ?? []) as readonly Json[],
    startTime: startTime ?? null,
    extra: extra as JsonObject,
  };
}

function toHistory(body: HistoryBody): History {
  return {
    // Safe cast: `checkGroup` has checked that each item is a message or a Choice.
    messagesAndChoices: (body.messages_and_choices ?? []) as unknown as readonly HistoryItem[],
    tools: (body.tools ?? null) as readonly JsonObject[] | null,
  };
}

function historyBody(history: History): object {
  return { messages_and_choices: history.messagesAndChoices, tools: history.tools };
}

/** Converts a trajectory to the form in which the client sent it. */
export function trajectoryBody(trajectory: Trajectory): object {
  return {
    ...historyBody(trajectory),
    additional_histories: trajectory.additionalHistories.map(historyBody),
    reward: trajectory.reward,
    initial_policy_version: trajectory.initialPolicyVersion,
    final_policy_version: trajectory.finalPolicyVersion,
    metrics: trajectory.metrics,
    metadata: trajectory.metadata,
    logs: trajectory.logs,
    start_time: trajectory.startTime,
    ...trajectory.extra,
  };
}

/** Converts a group to the form in which the client sent it. */
export function trajectoryGroupBody(group: TrajectoryGroup): object {
  return {
    trajectories: group.trajectories.map(trajectoryBody),
    exceptions: group.exceptions,
    metadata: group.metadata,
    metrics: group.metrics,
    logs: group.logs,
    ...group.extra,
  };
}

export const metricsSchema = Type.Object(
  {},
  { additionalProperties: Type.Number(), description: "Metrics, by name." },
);

/** A stored log without its trajectories, as an answer shows it in the history of metrics. */
export const loggedMetricsAnswer = answerOf<TrajectoryLog>()("LoggedMetrics", {
  id: Type.String({ format: "uuid", description: "Id of the log." }),
  split: Type.String(),
  step: Type.Integer({ minimum: 0, description: "Version of the model that the log belongs to." }),
  recorded_at: Type.String({ format: "date-time", description: "Time at which the server stored the log." }),
  metrics: metricsSchema,
});
export const trajectoryPageSchema = pageSchema(
  Type.Object(
    {
      ...loggedMetricsAnswer.schema.properties,
      trajectory_groups: Type.Array(trajectoryGroupSchema),
      left_out_bytes: Type.Optional(
        Type.Integer({
          minimum: 0,
          description:
            "Size of the log's trajectories in bytes, present only if the trajectories do not fit in a page. To read them, list the trajectories with their content, or export them.",
        }),
      ),
    },
    { title: "LoggedTrajectories" },
  ),
);
