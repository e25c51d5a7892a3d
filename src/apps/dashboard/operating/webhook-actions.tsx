// Buttons that enable, disable or delete a webhook.
import type { Webhook } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { may } from "../session.ts";

export function WebhookActions({
  hone,
  webhook: { id, url, enabled },
  onChange,
}: {
  readonly hone: Hone;
  readonly webhook: Webhook;
  readonly onChange: () => void;
}) {
  if (!may("manageWebhooks")) return null;
  return (
    <div class="row-actions">
      <ActionButton
        class="plain"
        label={`${enabled ? "Disable" : "Enable"} ${url}`}
        act={() => hone.webhooks.change(id, { enabled: !enabled }).then(onChange)}
        done={`Webhook ${enabled ? "disabled" : "enabled"}.`}
      >
        {enabled ? "Disable" : "Enable"}
      </ActionButton>
      <ActionButton
        class="plain danger"
        label={`Delete ${url}`}
        asks={{
          title: "Delete this webhook?",
          says: `The server will send no more events to ${url}. The list of its deliveries will be lost.`,
          button: "Delete webhook",
        }}
        act={() => hone.webhooks.delete(id).then(onChange)}
        done="Webhook deleted."
      >
        Delete
      </ActionButton>
    </div>
  );
}
