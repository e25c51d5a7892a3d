// Buttons that make a reward rule automatic for a model, or let the rule train only on request.
import { useState } from "preact/hooks";
import type { RewardRule } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { FormDialog } from "../components/forms/form-dialog.tsx";
import { textIn } from "../components/forms/form-values.ts";
import { ModelField } from "../components/forms/model-field.tsx";
import { modelNamed } from "../components/forms/model-named.ts";

export function AutomaticRule({
  hone,
  rule: { id, name, entity, project, terms, standing },
  onChange,
}: {
  readonly hone: Hone;
  readonly rule: RewardRule;
  readonly onChange: () => void;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const turnOn = async (form: HTMLFormElement): Promise<void> => {
    const model = await modelNamed(hone, textIn(form, "model"));
    await hone.rules.change(id, { name, terms, standing: { model_id: model.id } });
    setIsOpen(false);
    onChange();
  };
  if (standing !== null)
    return (
      <ActionButton
        class="plain"
        label={`Stop the automatic training of ${name}`}
        asks={{
          title: `Stop the automatic training of ${name}?`,
          says: "The rule then trains only on request. Its limits for automatic jobs will be lost.",
          button: "Stop automatic training",
        }}
        act={() => hone.rules.change(id, { name, terms, standing: null }).then(onChange)}
        done={`Rule ${name} trains only on request.`}
      >
        Stop
      </ActionButton>
    );
  return (
    <>
      <button
        type="button"
        class="plain"
        aria-label={`Automatic training with ${name}`}
        onClick={() => setIsOpen(true)}
      >
        Automatic
      </button>
      {isOpen && (
        <FormDialog
          title={`Train automatically with ${name}`}
          needs="train"
          button="Turn on"
          done={`Rule ${name} trains automatically.`}
          onSubmit={turnOn}
          onClose={() => setIsOpen(false)}
        >
          <p>The server creates a training job for this model whenever there is enough new feedback.</p>
          <ModelField hone={hone} project={`${entity}/${project}`} label="Model to train" isRequired />
        </FormDialog>
      )}
    </>
  );
}
