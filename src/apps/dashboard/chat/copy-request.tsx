// Copies the next request of a chat as code.
import { chatBody } from "./chat-body.ts";
import type { ChatSettings } from "./chat-settings.ts";
import { type Message } from "./conversation.ts";
import { CopyButton } from "./copy-button.tsx";
import { codeLanguages, requestCode } from "./request-code.ts";

export function CopyRequest({
  settings,
  messages,
}: {
  readonly settings: ChatSettings;
  readonly messages: readonly Message[];
}) {
  let body: object;
  try {
    body = chatBody(settings.models[0] ?? "", messages, settings);
  } catch {
    // Asking shows why the settings are invalid.
    return null;
  }
  return <CopyCode body={body} />;
}

/** Buttons that copy a request as code, one per language. */
export function CopyCode({ body }: { readonly body: object }) {
  return (
    <>
      {codeLanguages.map((language) => (
        <CopyButton
          key={language}
          label={`Copy as ${language}`}
          text={requestCode(language, `${location.origin}/v1`, body)}
        />
      ))}
    </>
  );
}
