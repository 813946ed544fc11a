"""Training says that it is finished, or why it stopped of its own will.

SOURCE  Axolotl, LitGPT's table of a run's performance, Lightning's timer and early stopping, the Hydra template's last step (it asks for the metric to optimise only
        after training came back), Megatron's exit rules, fairseq, torchtitan, Ray Train, Keras, scripts, also in other languages than English.
ROWS    `train_end`; the step where it is printed.
CAVEAT  a program that says "Training complete!" may have trained one step. A finished Ray iteration is not an end. The ends
        that Trainer, Lightning's limits and Megatron's banner print belong to hf_plan, lightning and megatron.
EXAMPLE [2026-06-20 15:38:29,823] [INFO] [axolotl.train] Training completed! Saving trained model to ./out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "completed": "training says that it is complete",
    "limit_reached": "a planned time limit of the trainer ended it (detail.limit)",
    "early_stop": "an early-stopping rule ended it",
    "metrics": "the final metrics are printed (***** train metrics *****)",
    "exited": "the framework ends by its own rule (Megatron's exit interval, duration or signal; detail.why)",
}

_ABROAD = (
    "(?:模型)?训练(?:模型)?(?:已经|已|全部)?(?:完成|结束|完毕)了?|(?:模型)?訓練(?:模型)?(?:已經|已|全部)?(?:完成|結束|完畢)|(?:モデルの?)?(?:学習|トレーニング)(?:が|は)?(?:完了|終了)(?:しました)?"
    "|(?:모델 )?(?:학습|훈련)\\s?(?:이 |을 )?(?:완료|종료)(?:되었습니다|했습니다)?"
    "|[Ee]ntrenamiento (?:completado|completo|finalizado|terminado|concluido)|[Tt]rein(?:amento|o) (?:conclu[ií]do|completo|finalizado|terminado)"
    "|[Ee]ntra[iî\ufffd]nement (?:termin[ée\ufffd]|fini|achev[é\ufffd]|complet)|[Tt]raining (?:abgeschlossen|beendet)|[Aa]ddestramento (?:completato|terminato)"
    "|[Оо]бучение (?:завершено|окончено)"
)
"""The same words in other languages."""
_OF_A_PART = "(?:第 ?\\d|[轮輪折步]|[Ee]po(?:ch|ca)|[ÉEé]po(?:ca|que)|[Ff]old|[Ээ]пох|エポック|에폭|\\bstep\\b|\\bpaso\\b|\\bpasso\\b)"
"""What an end of an epoch, a round or a fold speaks of."""

_TABLE: tuple[tuple[str, str | None, re.Pattern[str]], ...] = tuple(
    (name, framework, lazy.compile(pattern))
    for name, framework, pattern in (
        ("metrics", "hf-trainer", r"\*{5} train metrics \*{5}"),
        ("exited", "megatron", r"\[?exiting program (?P<why>at iteration (?P<step>\d+)|after .{1,60}|due to .{1,60})"),
        ("limit_reached", "lightning", r"Time limit reached\. Elapsed time is (?P<limit>[\w:., ]{1,40})"),
        ("completed", "timm", r"^\W*\*\*\* Best metric: "),
        ("completed", "detectron2", r"Total training time: \d[\d:, days]*\(.{1,40} on hooks\)"),
        ("completed", "caffe", r"\b(?:solver|caffe)\.cpp:\d{1,5}\] Optimization Done\."),
        ("completed", "espnet", r"The training was finished at \d+ epochs"),
        ("completed", "fairseq", r"done training in [\d.]+ seconds"),
        ("completed", "tensorflow", r"\bLoss for final step: "),
        ("completed", "spacy", r"^\W*Saved pipeline to output directory\s*$"),
        ("completed", "darknet", r"^\s*Saving weights to \S{1,300}_final\.weights\s*$"),
        ("completed", "icefall", r"\bINFO \[[\w-]*train\w*\.py:\d{1,5}\] (?:\(\d+/\d+\) )?Done!\s*$"),
        ("completed", "prime-rl", r"\b(?:(?:RL|SFT) trainer|Orchestrator) finished[.!]\s*$"),
        # Of as many as were planned: each epoch says so, and the last one is the end.
        ("completed", None, r"^\W*End of epoch (?P<last>\d{1,9}) ?/ ?(?P=last)\b"),
        # its table of means, which it prints when the last epoch is over
        ("completed", "llama-recipes", r"^Key: avg_(?:train|eval|epoch|checkpoint)_\w{1,20}, Value: "),
        ("completed", "litgpt", r"^\| - Training Time +: +\d+(?:\.\d+)? s\s*$"),
        ("early_stop", None, r"Training finished after not improving"),
        ("early_stop", "keras", r"Epoch \d+: early stopping"),
        # EarlyStopping says it as fit ends, by its own rule or with the last epoch.
        ("completed", "keras", r"(?<![A-Za-z])Restoring model weights from the end of the best epoch(?:: \d{1,9})?\.?\s*$"),
        ("early_stop", "lightning", r"Signaling Trainer to stop|EarlyStopping: .{0,80}stopp|[Ee]arly stopping (?:triggered|at (?:epoch|step|iteration))|[Ss]topped early after"),
        # a line that says nothing else
        ("early_stop", None, r"^\W{0,8}(?:EARLY[ _-]STOP(?:PED|PING)?|[Ee]arly[ -][Ss]top(?:ped)?)[\s.!*#=-]{0,8}$"),
        ("completed", "lightning", r"\bMetric name is None! Skipping metric value retrieval|\bRetrieved metric value! <"),
        ("completed", "ray", r"(?:Training|\bTrial \S{1,150}) (?:completed|finished) after \d+ iterations|Returning an analysis object by default\."),
        ("completed", None, r"(?i)(?:^|[\s\]:>|*-])(?:model )?(?:training|pre-?training|fine-?tuning) (?:is |has |run |successfully |job )*(?:completed?|finished|done)\b(?! iteration)(?=\s*(?:[.!:,;*✅🎉(=-]|$|in |after |at |success|with |total|saving|\|))"),
        ("completed", None, r"(?:^|[\s\]:>|*-])(?:Finished|Done|Completed|FINISHED|COMPLETED) (?i:(?:model )?training\b(?! (?:epoch|step|iteration|batch|loop for)))|(?:^|[\s\]:>|*-])End (?i:(?:of )?training\b(?! (?:epoch|step|iteration|batch|loop|set|data|phase)))|(?:^\W*|INFO[\s:|-]+)(?:Total )?[Tt]raining [Tt]ime:? (?:\d+ days?, )?\d+:\d\d:\d\d|(?:^\W*|INFO[\s:|-]+)Total [Tt]raining [Tt]ime:? *\d+(?:\.\d+)? ?(?:h|hr|hrs|hours?|m|min|mins|minutes?|s|secs?|seconds?)\b\.?\s*$"),
        ("completed", None, r"(?i)\breach(?:ed|ing) (?:the |its )?max(?:imum|imal)?[ _](?:number of )?(?:train(?:ing)?[ _])?(?:steps?|iter(?:ation)?s?|updates?|epochs?)\b(?: ?(?:of |= ?)?\(?\d+\)?)?[^\w]{1,4}(?:stop|end|exit|finish|terminat)(?!.{0,12}(?:eval|episode|rollout|generat|decod|sampl|search))"),
        ("completed", None, rf"^(?!.*{_OF_A_PART})(?:.*[\s\]:>|*=✅🎉-])?(?:{_ABROAD})(?=\s*(?:$|[.!:,;*✅🎉(。！，：；=~#-]|com |con |avec |mit |con\b|em |en |in |после|за ))"),
    )
)  # fmt: skip


class Finish(LineParser):
    """One line, one end."""

    name: ClassVar[str] = "finish"
    anchors: ClassVar[tuple[str, ...]] = (
        "raining complete",
        "raining finished",
        "raining Complete",
        "raining Finished",
        "raining Done",
        "raining Is ",
        "raining Has ",
        "raining Job ",
        "raining Successfully",
        "RAINING COMPLETE",
        "RAINING FINISHED",
        "RAINING DONE",
        "raining is ",
        "raining has ",
        "raining run ",
        "raining job ",
        "raining done",
        "raining successfully",
        "uning complete",
        "uning finished",
        "uning Complete",
        "uning Finished",
        "uning Done",
        "UNING COMPLETE",
        "UNING FINISHED",
        "uning is ",
        "uning done",
        "Restoring model weights",
        "train metrics",
        "Key: avg_",
        "Time limit reached",
        "exiting program",
        "done training",
        "arly stop",
        "arly Stop",
        "EARLY STOP",
        "EARLY_STOP",
        "EarlyStopping",
        "Signaling Trainer",
        "topped early",
        "Finished ",
        "FINISHED TRAINING",
        "COMPLETED TRAINING",
        "Done training",
        "Done Training",
        "End of training",
        "End of Training",
        "End training",
        "End Training",
        "Completed ",
        "raining time",
        "raining Time",
        "training was finished",
        "Best metric: ",
        "Loss for final step",
        "Saved pipeline to",
        "_final.weights",
        "] Done!",
        ") Done!",
        " trainer finished",
        "Orchestrator finished",
        "End of epoch ",
        "Optimization Done",
        "Returning an analysis",
        " completed after ",
        "metric value",
        "Exception during training:",
        "eached the max",
        "eached max",
        "eached its max",
        "eaching max",
        "训练完",
        "训练结",
        "训练已",
        "训练全",
        "训练模型",
        "訓練完",
        "訓練結",
        "訓練已",
        "訓練全",
        "訓練模型",
        "学習完",
        "学習終",
        "学習が",
        "学習は",
        "학습 완",
        "학습완",
        "학습 종",
        "학습이",
        "학습을",
        "トレーニング",
        "훈련 ",
        "훈련이",
        "훈련을",
        "훈련완",
        "훈련종",
        "ntrenamiento ",
        "reinamento ",
        "reino ",
        "nement termin",
        "nement fini",
        "nement ach",
        "nement complet",
        "raining abgeschlossen",
        "raining beendet",
        "ddestramento ",
        "бучение ",
    )

    def __init__(self) -> None:
        self._broke = False  # detectron2 sums up its times on the way out of an exception too

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text if len(line.text) < 4000 else line.text[-4000:]
        if "Exception during training:" in text:
            self._broke = True
            return []
        if "Do not forget to share your model" in text:
            return []
        for name, framework, pattern in _TABLE:
            if found := pattern.search(text):
                if framework == "detectron2" and self._broke:
                    return []
                got = found.groupdict()
                return [
                    line.event(
                        "train_end",
                        name,
                        line.text if len(line.text) <= 2000 else text[max(0, found.start() - 100) :],
                        severity="info",
                        parser=self.name,
                        framework=framework,
                        step=whole(got.get("step")),
                        detail=detail(limit=got.get("limit"), why=got.get("why")),
                    )
                ]
        return []
