// Buttons that enable, disable or delete a webhook.
import type { Webhook } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { useAction } from "../components/forms/use-action.ts";
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
  const { isBusy, failure, run } = useAction();
  if (!may("manageWebhooks")) return null;
  const change = async (work: () => Promise<unknown>): Promise<void> => {
    await work();
    onChange();
  };
  const remove = async (): Promise<void> => {
    if (confirm(`Delete the webhook for ${url}, with its deliveries?`))
      await change(() => hone.webhooks.delete(id));
  };
  return (
    <div class="row-actions">
      <button
        type="button"
        class="plain"
        disabled={isBusy}
        onClick={() => run(() => change(() => hone.webhooks.change(id, { enabled: !enabled })))}
      >
        {enabled ? "Disable" : "Enable"}
      </button>
      <button type="button" class="plain danger" disabled={isBusy} onClick={() => run(remove)}>
        Delete
      </button>
      <Failure of={failure} />
    </div>
  );
}
