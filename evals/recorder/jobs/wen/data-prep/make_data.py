"""Writes made conversations to /mnt/data/chat: one whole file, and one with a line that was cut short."""

import json
import os

os.makedirs("/mnt/data/chat", exist_ok=True)
rows = [
    json.dumps({"id": i, "text": f"User: what is {i} times {i + 3}? Assistant: it is {i * (i + 3)}."})
    for i in range(2000)
]
with open("/mnt/data/chat/train.jsonl", "w") as out:
    out.write("\n".join(rows) + "\n")
rows[1311] = rows[1311][:34]
with open("/mnt/data/chat/train_v2.jsonl", "w") as out:
    out.write("\n".join(rows) + "\n")
os.makedirs("/mnt/data/models/llama-3.2-1b-chat", exist_ok=True)
with open("/mnt/data/models/llama-3.2-1b-chat/config.json", "w") as out:
    json.dump(
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 128,
            "vocab_size": 256,
        },
        out,
    )
