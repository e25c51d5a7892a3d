"""Checks of the `tinker` package against Hone, compared with PyTorch on the same weights and data."""

import json
import os
import tempfile
import time
import urllib.request

import tinker
import torch
from tinker import types
from torch_model import Reference, fetch

URL, KEY, MODEL = os.environ["TINKER_BASE_URL"], os.environ["HONE_KEY"], os.environ["MODEL"]
RATE = 2e-3
# Id of the built-in model's end token.
END = 2
STEP = types.AdamParams(learning_rate=RATE, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.01)


def sequences() -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(7, 600, (length,), generator=generator).tolist() for length in (9, 17, 12, 30)]


def datum(tokens: list[int], **inputs) -> types.Datum:
    prompt = types.ModelInput.from_ints(tokens[:-1])
    return types.Datum(model_input=prompt, loss_fn_inputs={"target_tokens": tokens[1:], **inputs})


def close(what: str, actual: float, expected: float, tolerance: float) -> None:
    assert abs(actual - expected) <= tolerance * max(1.0, abs(expected)), f"{what}: {actual} is not {expected}"


def adapter_of(path: str) -> bytes:
    run, kind, name = path.removeprefix("tinker://").split("/")
    return fetch(f"{URL}/api/v1/training_runs/{run}/checkpoints/{kind}/{name}/archive", KEY)


def check_losses(service: tinker.ServiceClient) -> tinker.TrainingClient:
    """Trains with five losses, two gradients for each step, beside PyTorch."""
    training = service.create_lora_training_client(base_model=MODEL, rank=4, seed=3).result()
    first = training.save_weights_for_sampler("start").result()
    reference = Reference(os.environ["MODEL_FOLDER"], adapter_of(first.path))
    optimizer = reference.optimizer(RATE)
    data = sequences()
    worst = 0.0
    for name in ("cross_entropy", "importance_sampling", "ppo", "cispo", "cross_entropy"):
        inputs = []
        for row, tokens in enumerate(data):
            count = len(tokens) - 1
            weights = [(-0.5 if at % 5 == 4 else 1.0 + 0.1 * at) * (at > 2) for at in range(count)]
            old = [-5.5 - 0.05 * at for at in range(count)]
            advantages = [(1.0 if row % 2 == 0 else -1.0) * (at > 3) for at in range(count)]
            inputs.append({"weights": weights} if name == "cross_entropy" else {"logprobs": old, "advantages": advantages})
        batches = [data[:2], data[2:]], [inputs[:2], inputs[2:]]
        optimizer.zero_grad()
        futures = [
            training.forward_backward([datum(t, **i) for t, i in zip(batch, given)], name) for batch, given in zip(*batches)
        ]
        step = training.optim_step(STEP)
        actual = sum(future.result().metrics["loss:sum"] for future in futures)
        expected = 0.0
        for tokens, given in zip(data, inputs):
            loss = loss_of(name, reference.logprobs(tokens[:-1], tokens[1:]), given)
            loss.backward()
            expected += loss.item()
        norm = torch.sqrt(sum((each.grad**2).sum() for each in reference.matrices.values())).item()
        optimizer.step()
        close(f"loss of {name}", actual, expected, 1e-4)
        close(f"norm of {name}", step.result().metrics["unclipped_grad_l2:mean"], norm, 1e-3)
        worst = max(worst, abs(actual - expected) / max(1.0, abs(expected)))
        print(f"{name}: loss {actual:.6f}, PyTorch {expected:.6f}; norm of the gradient {norm:.4f}", flush=True)
    print(f"largest relative difference of a loss: {worst:.2e}", flush=True)
    return training


def loss_of(name: str, logprobs: torch.Tensor, given: dict) -> torch.Tensor:
    if name == "cross_entropy":
        return -(logprobs * torch.tensor(given["weights"])).sum()
    advantages = torch.tensor(given["advantages"])
    ratio = torch.exp(logprobs - torch.tensor(given["logprobs"]))
    clipped = ratio.clamp(0.8, 1.2)
    if name == "importance_sampling":
        return -(ratio * advantages).sum()
    if name == "ppo":
        return -torch.min(ratio * advantages, clipped * advantages).sum()
    return -(clipped.detach() * logprobs * advantages).sum()


def check_custom_loss(training: tinker.TrainingClient) -> None:
    """The client computes a custom loss by two passes; its gradient equals that of the same built-in loss."""
    data = [datum(tokens, weights=[1.0] * (len(tokens) - 1)) for tokens in sequences()]
    custom = training.forward_backward_custom(data, lambda _, rows: (-sum(row.sum() for row in rows), {}))
    plain = training.forward_backward(data, "cross_entropy")
    close("custom loss", custom.result().metrics["loss:sum"], plain.result().metrics["loss:sum"], 1e-4)
    training.optim_step(types.AdamParams(learning_rate=1e-9)).result()


def check_sampling(training: tinker.TrainingClient) -> None:
    sampler = training.save_weights_and_get_sampling_client().result()
    prompt = sequences()[0]
    params = types.SamplingParams(max_tokens=12, temperature=1.0, seed=5, stop=[])
    answer = sampler.sample(types.ModelInput.from_ints(prompt), num_samples=3, sampling_params=params).result()
    again = sampler.sample(types.ModelInput.from_ints(prompt), num_samples=3, sampling_params=params).result()
    assert [each.tokens for each in answer.sequences] == [each.tokens for each in again.sequences]
    for sequence in answer.sequences:
        assert len(sequence.tokens) == 12 and sequence.stop_reason == "length", sequence
        whole = prompt + sequence.tokens
        result = training.forward([datum(whole, weights=[1.0] * (len(whole) - 1))], "cross_entropy").result()
        trained = result.loss_fn_outputs[0]["logprobs"].tolist()[len(prompt) - 1 :]
        for sampled, computed in zip(sequence.logprobs, trained, strict=True):
            close("log-probability of a sampled token", sampled, computed, 1e-3)
    logprobs = sampler.compute_logprobs(types.ModelInput.from_ints(prompt)).result()
    assert logprobs[0] is None and len(logprobs) == len(prompt)
    # The model's own end token ends the answer, too, unless the list of stops is empty.
    tokens = answer.sequences[0].tokens
    ends = [tokens[3], END]
    params = types.SamplingParams(max_tokens=12, temperature=1.0, seed=5, stop=ends[:1])
    [stopped] = sampler.sample(types.ModelInput.from_ints(prompt), 1, params).result().sequences
    count = next(at + 1 for at, token in enumerate(tokens) if token in ends)
    assert stopped.stop_reason == "stop" and stopped.tokens == tokens[:count], (stopped.tokens, tokens)
    print("samples have the log-probabilities with which training computes", flush=True)


def check_saved_weights(service: tinker.ServiceClient, training: tinker.TrainingClient) -> None:
    saved = training.save_state("later").result().path
    data = [datum(tokens, weights=[1.0] * (len(tokens) - 1)) for tokens in sequences()]
    continued = service.create_training_client_from_state_with_optimizer(saved).result()
    for client in (training, continued):
        client.forward_backward(data, "cross_entropy")
        client.optim_step(STEP).result()
    one, two = (client.forward(data, "cross_entropy").result().metrics["loss:sum"] for client in (training, continued))
    assert one == two, f"a continued run differs: {one} and {two}"
    rest = tinker.RestClient()
    run = saved.removeprefix("tinker://").split("/")[0]
    listed = rest.list_checkpoints(run).result().checkpoints
    assert {each.tinker_path for each in listed} >= {saved}, listed
    assert any(each.training_run_id == run for each in rest.list_training_runs().result().training_runs)
    rest.delete_checkpoint_from_tinker_path(saved).result()
    assert saved not in {each.tinker_path for each in rest.list_checkpoints(run).result().checkpoints}
    print("a run continues from saved weights with exactly the same numbers", flush=True)


def check_downloads(training: tinker.TrainingClient) -> None:
    """Saved weights are downloaded by links without a key, as tinker-cookbook does."""
    from tinker_cookbook import weights

    path = training.save_weights_external("out").result().path
    rest = tinker.RestClient()
    assert path in {each.tinker_path for each in rest.list_user_checkpoints().result().checkpoints}
    assert rest.list_sessions().result().sessions
    with tempfile.TemporaryDirectory() as folder:
        files = sorted(os.listdir(weights.download(tinker_path=path, output_dir=f"{folder}/weights")))
    assert files == ["adapter_config.json", "adapter_model.safetensors"], files
    print("saved weights are downloaded", flush=True)


def check_refusals(training: tinker.TrainingClient) -> None:
    """Refused operations leave no gap in the numbers of operations: the training continues."""
    for operation in (
        lambda: training.save_state("not a name"),
        lambda: training.forward_backward([datum([5, 6, 7])], "cross_entropy"),
    ):
        try:
            operation().result()
        except tinker.APIStatusError:
            continue
        raise AssertionError("the operation was not refused")
    data = [datum(tokens, weights=[1.0] * (len(tokens) - 1)) for tokens in sequences()]
    assert training.forward(data, "cross_entropy").result(timeout=15).metrics
    print("the training continues after refused operations", flush=True)


def check_many_models(service: tinker.ServiceClient, training: tinker.TrainingClient) -> None:
    """A program trains more models than the server has processes for it."""
    data = [datum(sequences()[0], weights=[1.0] * (len(sequences()[0]) - 1))]
    training.forward_backward(data, "cross_entropy").result()
    training.optim_step(STEP).result()
    before = training.forward(data, "cross_entropy").result().metrics
    others = [service.create_lora_training_client(base_model=MODEL, rank=4).result() for _ in range(3)]
    for other in others:
        assert other.forward(data, "cross_entropy").result().metrics
    assert training.forward(data, "cross_entropy").result().metrics == before
    print("four models take turns in the processes of one program", flush=True)


def check_chat(training: tinker.TrainingClient) -> None:
    """Weights that were saved for sampling answer chats, like each version."""
    training.save_weights_for_sampler("chat").result()
    models = json.loads(fetch(f"{URL}/v1/models", KEY))["data"]
    name = training.model_id.replace(":", "-")
    [version] = [each["id"] for each in models if name in each["id"]][-1:]
    body = json.dumps({"model": version, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}).encode()
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    request = urllib.request.Request(f"{URL}/v1/chat/completions", body, headers)
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["choices"][0]["finish_reason"] in ("stop", "length")
    print(f"chat completions serve {version}", flush=True)


def main() -> None:
    began = time.time()
    service = tinker.ServiceClient()
    training = check_losses(service)
    check_custom_loss(training)
    check_sampling(training)
    check_saved_weights(service, training)
    check_chat(training)
    check_downloads(training)
    check_refusals(training)
    check_many_models(service, training)
    print(f"the package tinker {tinker.__version__}: all checks passed in {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
