// View of a recorded chat: its turns with their tokens, and feedback on the chat and on each choice.
import type { RecordedCompletion } from "../../client/api.ts";
import { costText } from "../../client/cost-text.ts";
import type { Hone } from "../../client/hone.ts";
import { FeedbackPanel } from "../feedback/feedback-panel.tsx";
import { isOnChoice } from "../feedback/references.ts";
import { shortNumber } from "../components/numbers.ts";
import { Facts, Shown, View, When } from "../components/shown.tsx";
import { RawJson } from "../trajectories/raw-json.tsx";
import { listPlace, sameList } from "../neighbours/list-place.ts";
import { RowNav } from "../neighbours/row-nav.tsx";
import { Alternatives } from "../reading/alternatives.tsx";
import { ReadingSwitch } from "../reading/reading-switch.tsx";
import { type Branch, branchesOf } from "../trajectories/turns.ts";
import { TurnBody, TurnList } from "../trajectories/turn-view.tsx";
import { addressOf, place } from "../router.ts";
import { may, session } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { CopyCode } from "../chat/copy-request.tsx";
import { AnswerDiff } from "../reading/answer-diff.tsx";
import { recordedBody, recordedChatQuery } from "./recorded-request.ts";
import { nameOf } from "../model/model-path.ts";
import { type ChatKey, chatNeighbours } from "./chat-neighbours.ts";
import { recordedModel } from "./recorded-model.ts";

/** Names of other lists that link to conversations. */
const listNames: Readonly<Record<string, string>> = {
  feedback: "Feedback",
  queues: "Items",
  jobs: "Job",
};

export function RecordedChat({ hone, requestId }: { readonly hone: Hone; readonly requestId: string }) {
  const project = place.value.query.get("project") ?? "";
  const loaded = useLoaded(
    async (signal) => {
      const chat = await hone.recordings.get(requestId, project === "" ? {} : { project }, { signal });
      return { chat, model: await nameOfModel(hone, chat, signal) };
    },
    [hone, requestId, project],
  );
  const list = { ...listPlace(addressOf("conversations")), entity: session.value?.key.entity ?? "" };
  const { value: neighbours } = useLoaded(
    (signal) => chatNeighbours(hone, { project, id: requestId }, list, signal),
    [hone, requestId, project, list.address],
  );
  const listName = listNames[list.view] ?? "Conversations";
  const linkTo = (chat: ChatKey | null = null) =>
    chat === null ? null : addressOf("conversations", [chat.id], { project: chat.project, ...sameList() });
  return (
    <View title="Conversation" path={[[listName, list.address]]}>
      <RowNav
        list={list.address}
        listName={listName}
        noun="conversation"
        previous={linkTo(neighbours?.previous)}
        next={linkTo(neighbours?.next)}
      />
      <Shown loaded={loaded}>
        {({ chat, model }) => (
          <div class="beside">
            <Turns hone={hone} chat={chat} />
            <aside>
              <About chat={chat} model={model} />
              <FeedbackPanel
                hone={hone}
                subject={{ projectId: chat.project_id, reference: chat.reference }}
                isElsewhere={(record) => chat.choices.length > 1 && isOnChoice(record, chat.choices.length)}
              />
            </aside>
          </div>
        )}
      </Shown>
    </View>
  );
}

/** Returns the full name of the chat's model. */
async function nameOfModel(hone: Hone, chat: RecordedCompletion, signal: AbortSignal): Promise<string> {
  const model = may("readModels")
    ? // The model may have been deleted.
      await hone.models.get(chat.model_id, { signal }).catch(() => null)
    : null;
  return recordedModel(chat, new Map(model === null ? [] : [[model.id, nameOf(model)]]));
}

function Turns({ hone, chat }: { readonly hone: Hone; readonly chat: RecordedCompletion }) {
  const { choices } = chat;
  const asked =
    chat.prompt_text === null ? (chat.messages ?? []) : [{ role: "prompt", content: chat.prompt_text }];
  const answers = choices.length > 1 ? branchOf(choices, null).turns : [];
  const { turns, toolNames } = branchOf([...asked, ...(choices.length > 1 ? [] : choices)], chat.tools);
  return (
    <div>
      {!chat.is_whole && (
        <p class="warning">
          This conversation was too large to be recorded completely: its messages and tokens are not stored.
        </p>
      )}
      <ReadingSwitch hasTokens={chat.has_logprobs && chat.is_whole} />
      <h2 class="hidden">Messages</h2>
      <TurnList turns={turns} toolNames={toolNames} />
      {choices.length > 1 && (
        <Alternatives
          answers={answers}
          title={
            <>
              <span class="muted">{turns.length + 1}</span> assistant
            </>
          }
          nameOf={({ finishReason }) => finishReason && `ended: ${finishReason}`}
        >
          {(turn, index) => (
            <>
              <TurnBody turn={turn} name={`answer ${index + 1}`} />
              <FeedbackPanel
                hone={hone}
                subject={{
                  projectId: chat.project_id,
                  reference: `${chat.reference}/attr/choices/index/${index}`,
                }}
                hasKeys={false}
                isFolded
                label={`Feedback on answer ${index + 1}`}
              />
            </>
          )}
        </Alternatives>
      )}
      <AnswerDiff texts={answers.map(({ text }) => text)} />
      <Again chat={chat} />
      <RawJson value={chat} />
    </div>
  );
}

/** Continues the conversation in the view Chat, or copies its request as code. */
function Again({ chat }: { readonly chat: RecordedCompletion }) {
  const body = recordedBody(chat);
  const query = may("chat") ? recordedChatQuery(chat) : null;
  if (body === null) return null;
  return (
    <p class="links">
      {query !== null && <a href={addressOf("chat", [], query)}>Open in chat</a>}
      <CopyCode body={body} />
    </p>
  );
}

/** Returns the turns of messages and answers. */
function branchOf(items: readonly object[], tools: unknown): Pick<Branch, "turns" | "toolNames"> {
  const [branch] = branchesOf({ messages_and_choices: items, tools });
  return branch ?? { turns: [], toolNames: [] };
}

/** Returns how long the answer and its first token took, with the mean speed of its tokens. */
function latencyText({
  started_at: startedAt,
  ended_at: endedAt,
  first_token_ms: firstMs,
  usage,
}: RecordedCompletion): string {
  const seconds = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  if (seconds <= 0) return "under 1 ms";
  const first = firstMs === null ? "" : `, first token after ${shortNumber(firstMs / 1000)} s`;
  return `${shortNumber(seconds)} s${first}, ${shortNumber(usage.completion_tokens / seconds)} tokens/s`;
}

function About({ chat, model }: { readonly chat: RecordedCompletion; readonly model: string }) {
  const { usage, sampling, metadata } = chat;
  const cost = costText(chat);
  return (
    <section aria-labelledby="about">
      <h2 id="about">{model}</h2>
      <Facts
        of={[
          [
            "version",
            may("readModels") ? <a href={addressOf("models", [chat.model_id])}>{chat.step}</a> : chat.step,
          ],
          ["project", chat.project_id],
          ["requested by", chat.owner],
          ["answered", <When at={chat.ended_at} />],
          ["duration", latencyText(chat)],
          ["tokens", `${usage.prompt_tokens} in the prompt, ${usage.completion_tokens} in the answer`],
          ...(cost === null ? [] : ([["cost", cost]] as const)),
          ["temperature", sampling === null ? "–" : String(sampling.temperature)],
          ["request", chat.request_id],
        ]}
      />
      {Object.keys(metadata).length > 0 && (
        <details>
          <summary>Metadata</summary>
          <div class="said code">{JSON.stringify(metadata, null, 2)}</div>
        </details>
      )}
    </section>
  );
}
