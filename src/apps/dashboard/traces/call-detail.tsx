// Details of a recorded call: its state, inputs, output and error.
import type { WeaveCall } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { FeedbackPanel } from "../feedback/feedback-panel.tsx";
import { msText } from "../components/numbers.ts";
import { Facts, Shown, State, When } from "../components/shown.tsx";
import { useLoaded } from "../use-loaded.ts";
import { ReadingSwitch } from "../reading/reading-switch.tsx";
import { TurnList } from "../trajectories/turn-view.tsx";
import { chatOf } from "./call-chat.ts";
import { callCost, callTokens } from "./call-cost.ts";
import { callName, durationMs } from "./call-tree.ts";

export function CallState({ of: call }: { readonly of: WeaveCall }) {
  const state = stateOf(call);
  return <State of={state === "ended" ? "succeeded" : state} says={state} />;
}

export function stateOf({ exception, ended_at: end }: WeaveCall): "failed" | "running" | "ended" {
  if (exception !== null) return "failed";
  return end === null ? "running" : "ended";
}

/** Loads a call with its inputs and output, and shows it. */
export function CallDetail({
  hone,
  of: { id, project_id: project },
}: {
  readonly hone: Hone;
  readonly of: WeaveCall;
}) {
  const loaded = useLoaded(
    (signal) =>
      hone.call(
        "POST /call/read",
        { body: { project_id: project, id, include_costs: true } },
        { isRepeatable: true, signal },
      ),
    [hone, project, id],
  );
  return (
    <Shown loaded={loaded}>
      {({ call }) => (call === null ? <p>This call was deleted.</p> : <WholeCall hone={hone} call={call} />)}
    </Shown>
  );
}

function WholeCall({ hone, call }: { readonly hone: Hone; readonly call: WeaveCall }) {
  const { id, project_id: projectId, wb_user_id: owner, exception, started_at: startedAt } = call;
  const [cost, tokens, chat] = [callCost(call), callTokens(call), chatOf(call)];
  return (
    <section aria-labelledby="call">
      <h2 id="call" dir="auto">
        {callName(call)}
      </h2>
      <Facts
        of={[
          ["state", <CallState of={call} />],
          ["duration", msText(durationMs(call))],
          ...(tokens === null
            ? []
            : ([["tokens", `${tokens.prompt} in the prompt, ${tokens.answer} in the answer`]] as const)),
          ...(cost === null ? [] : ([["cost", cost]] as const)),
          ["started", <When at={startedAt} />],
          ["recorded by", owner],
          ["call id", <code>{id}</code>],
        ]}
      />
      {exception !== null && <div class="said code failure">{exception}</div>}
      {chat !== null && (
        <>
          <ReadingSwitch hasTokens={chat.turns.some((turn) => turn.tokens !== null)} />
          <h3 class="hidden">Messages</h3>
          <TurnList {...chat} />
        </>
      )}
      <Part title="Inputs" of={call.inputs} isOpen={chat === null} />
      <Part title="Output" of={call.output} isOpen={chat === null} />
      <Part title="Attributes" of={call.attributes} />
      <Part title="Summary" of={call.summary} />
      <FeedbackPanel hone={hone} subject={{ projectId, reference: `weave:///${projectId}/call/${id}` }} />
    </section>
  );
}

/** A part of a call as JSON; nothing if it is empty. */
function Part({
  title,
  of: value,
  isOpen = false,
}: {
  readonly title: string;
  readonly of: unknown;
  readonly isOpen?: boolean;
}) {
  const isEmpty = value === null || (typeof value === "object" && Object.keys(value).length === 0);
  if (value === undefined || isEmpty) return null;
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      <div class="said code" dir="auto" tabIndex={0} role="region" aria-label={title}>
        {typeof value === "string" ? value : JSON.stringify(value, null, 2)}
      </div>
    </details>
  );
}
