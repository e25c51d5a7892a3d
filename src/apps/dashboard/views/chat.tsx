// View for conversations with one model, or with several models or versions side by side.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { Hone } from "../../client/hone.ts";
import { chatSettings, type ChatSettings, putChatSettings, usualModel } from "../chat/chat-settings.ts";
import { askOnEnter } from "../chat/ask-on-enter.ts";
import { messagesBefore, messagesOf } from "../chat/conversation.ts";
import { CopyRequest } from "../chat/copy-request.tsx";
import { RoundView } from "../chat/round-view.tsx";
import { SettingsForm } from "../chat/settings-form.tsx";
import { useChat } from "../chat/use-chat.ts";
import { useDraft } from "../components/forms/draft.ts";
import { Shown, View } from "../components/shown.tsx";
import { place, replaceQuery } from "../router.ts";
import { session } from "../session.ts";
import { LevelLegend } from "../trajectories/token-text.tsx";
import { useLoaded } from "../use-loaded.ts";

export function ChatView({ hone }: { readonly hone: Hone }) {
  const usual = useLoaded(async (signal) => usualModel(await hone.served.find("", { signal })), [hone]);
  return (
    <View title="Chat">
      <Shown loaded={usual}>{(model) => <Conversation hone={hone} usual={model} />}</Shown>
    </View>
  );
}

/** @param usual name of the model that answers if the address names none */
function Conversation({ hone, usual }: { readonly hone: Hone; readonly usual: string }) {
  const settings = chatSettings(place.value.query, usual);
  const chat = useChat(hone, settings);
  const change = (changed: Partial<ChatSettings>): void =>
    replaceQuery((query) => putChatSettings(query, { ...settings, ...changed }));
  return (
    <>
      <SettingsForm hone={hone} settings={settings} onChange={change} />
      {settings.showsTokens && <LevelLegend />}
      {chat.rounds.map((round, index) => (
        <RoundView
          key={index}
          hone={hone}
          round={round}
          index={index}
          chat={chat}
          models={settings.models}
          showsTokens={settings.showsTokens}
          entity={session.value?.key.entity ?? null}
        />
      ))}
      {!chat.isKept && (
        <p class="muted">This conversation is too long for the address, so a reload will lose it.</p>
      )}
      <Composer
        isFirst={chat.rounds.length === 0}
        isRunning={chat.isRunning}
        onAsk={(text) => chat.ask(text, chat.rounds.length)}
        onStop={chat.stop}
        onClear={chat.clear}
      >
        {(draft) =>
          // Without a new question, the code repeats the shown answer.
          draft === "" && chat.rounds.length > 0 ? (
            <CopyRequest
              settings={{
                ...settings,
                seed: settings.seed || (chat.rounds.at(-1)?.columns[0]?.at(-1)?.seed ?? ""),
              }}
              messages={messagesBefore(chat.rounds, 0, settings.system)}
            />
          ) : (
            <CopyRequest
              settings={settings}
              messages={[...messagesOf(chat.rounds, 0, settings.system), { role: "user", content: draft }]}
            />
          )
        }
      </Composer>
    </>
  );
}

function Composer({
  isFirst,
  isRunning,
  onAsk,
  onStop,
  onClear,
  children,
}: {
  readonly isFirst: boolean;
  readonly isRunning: boolean;
  readonly onAsk: (question: string) => void;
  readonly onStop: () => void;
  readonly onClear: () => void;
  /** Returns the buttons that copy the request with the question typed so far. */
  readonly children: (draft: string) => ComponentChildren;
}) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useDraft("chat");
  return (
    <form
      ref={form}
      class="ask"
      aria-label="New question"
      onSubmit={(event) => {
        event.preventDefault();
        if (draft.trim() === "") return;
        onAsk(draft);
        setDraft("");
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape" && isRunning) onStop();
        askOnEnter(event, form.current);
      }}
    >
      <label class="wide">
        {isFirst ? "Question" : "Next question"}
        <textarea
          rows={3}
          dir="auto"
          value={draft}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
      </label>
      <p class="links">
        <button type="submit">Ask</button>
        <button type="button" disabled={!isRunning} onClick={onStop}>
          Stop
        </button>
        {!isFirst && (
          <button type="button" onClick={onClear}>
            New chat
          </button>
        )}
        {children(draft)}
        <span class="muted">
          <kbd>Enter</kbd> asks, <kbd>Shift</kbd> <kbd>Enter</kbd> begins a new line, <kbd>Esc</kbd> stops
        </span>
      </p>
    </form>
  );
}
