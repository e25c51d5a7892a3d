// Dialog that shows a new secret once. Only its button closes it, since a secret that is not copied is lost.
import { Dialog } from "../components/forms/dialog.tsx";
import { Command } from "../components/empty.tsx";

/** Texts that say why a secret is shown only once, for the secrets of API keys and of webhooks. */
const whyOnce = {
  key: "The server stores only the key's hash, so neither this page nor the server can show the secret again.",
  webhook:
    "The server stores the webhook's secret in plain text to sign requests, but neither this page nor the API shows it again.",
};

export function Secret({
  of,
  secret,
  onClose,
}: {
  readonly of: keyof typeof whyOnce;
  readonly secret: string;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title="Copy the secret now" mayClose={() => false} hasClose={false} onClose={onClose}>
      <p>{whyOnce[of]}</p>
      <Command text={secret} />
      <p>
        Only the button closes this dialog, so that Escape does not lose a secret that you have not copied.
      </p>
      <button type="button" class="primary" onClick={onClose}>
        Done
      </button>
    </Dialog>
  );
}
