"""Training says that it is finished; an iteration or an epoch that is finished is not the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.finish import NAMES, Finish


def parse(text):
    return parse_text(Finish(), text)


@pytest.mark.parametrize(
    ("text", "name", "want"),
    [
        ("***** train metrics *****", "metrics", {}),
        ("Key: avg_train_prep, Value: 2.1130", "completed", {}),
        ("Key: avg_epoch_time, Value: 31.08", "completed", {}),
        ("[exiting program at iteration 500] datetime: 2024-01-01 00:00:00", "exited", {"step": 500}),
        ("2023-01-01 | INFO | fairseq_cli.train | done training in 1234.5 seconds", "completed", {}),
        ("Time limit reached. Elapsed time is 0:10:00. Signaling Trainer to stop.", "limit_reached", {}),
        ("Epoch 00010: early stopping", "early_stop", {}),
        ("*** EARLY STOPPED ***", "early_stop", {}),
        ("Early stop!", "early_stop", {}),
        ("Restoring model weights from the end of the best epoch: 12.", "completed", {}),
        (
            "200/200 [====] - ETA: 0s - loss: 0.5Restoring model weights from the end of the best epoch.",
            "completed",
            {},
        ),
        ("[2026-05-08 14:18:24,076 INFO] Training finished after not improving. Early Stop!", "early_stop", {}),
        (
            "[2026-06-20 15:38:29,823] [INFO] [axolotl.train] Training completed! Saving trained model to ./out.",
            "completed",
            {},
        ),
        ("I0301 10:00:01.280395  4259 solver.cpp:315] Optimization Done.", "completed", {}),
        ("Saving weights to backup//yolo-obj_final.weights", "completed", {}),
        ("✔ Saved pipeline to output directory", "completed", {}),
        ("INFO:tensorflow:Loss for final step: 0.25.", "completed", {}),
        ("2026-03-01 10:00:26,001 INFO [train.py:1241] Done!", "completed", {}),
        ("2026-03-01 10:00:26,001 INFO [finetune_train_ddp.py:41] (0/8) Done!", "completed", {}),
        ("10:00:26 SUCCESS RL trainer finished!", "completed", {}),
        ("End of epoch 30 / 30 \t Time Taken: 41 sec", "completed", {}),
        ("Training complete!", "completed", {}),
        ("Training finished in 3.2 hours", "completed", {}),
        ("Finished training", "completed", {}),
        ("Finished Training in  31.20 seconds", "completed", {}),
        ("=== Training Complete ===", "completed", {}),
        ("✅ Training Completed Successfully", "completed", {}),
        ("TRAINING COMPLETE", "completed", {}),
        ("Fine-Tuning Finished!", "completed", {}),
        ("End of Training", "completed", {}),
        ("End training....", "completed", {}),
        ("Training completed after 1 iterations at 2025-04-11 14:58:04.", "completed", {}),
        ("Trial PPO_Pendulum-v1_0a1b2_00003 completed after 30 iterations at 2026-03-01 10:20:26.", "completed", {}),
        ("INFO tune.py: Returning an analysis object by default. You can call it.", "completed", {}),
        ("Training time 1:23:45", "completed", {}),
        ("Training time 2 days, 7:02:11", "completed", {}),
        ("Total training time: 1 day, 0:12:40", "completed", {}),
        ("[INFO] Reached max_steps (250), stopping training.", "completed", {}),
        ("12:00:01 | INFO | Reached max steps (9000). Stopping training.", "completed", {}),
        ("Reached the maximum number of epochs, stopping", "completed", {}),
        ("训练完成！模型已保存到 out/", "completed", {}),
        ("模型训练完成", "completed", {}),
        ("训练模型已完成。", "completed", {}),
        ("モデルのトレーニングが完了しました", "completed", {}),
        ("모델 훈련 완료", "completed", {}),
        ("2025-01-02 03:04:05,678 - INFO - Treinamento concluído com sucesso", "completed", {}),
        ("=== Entrenamiento finalizado ===", "completed", {}),
        ("Entraînement terminé en 12 minutes", "completed", {}),
        ("Training abgeschlossen.", "completed", {}),
        ("Обучение завершено", "completed", {}),
        ("Entra\ufffdnement termin\ufffd.", "completed", {}),
        ("| - Training Time             :  312.20 s", "completed", {}),
    ],
)
def test_ends_by_name(text, name, want):
    (row,) = parse(text)
    assert (row.kind, row.name) == ("train_end", name) and name in NAMES
    assert {k: getattr(row, k) for k in want} == want


@pytest.mark.parametrize(
    "text",
    [
        "Training finished iteration 1 at 2025-04-11 14:58:02. Total running time: 10min 24s",
        "Early stop counter: 3 of 10",
        "== Early stopping ==",
        "EARLY STOP PATIENCE 10",
        "Training is not complete",
        "request completed after 3 iterations",
        "End of epoch 3 / 30 \t Time Taken: 41 sec",
        "End of epoch 3 / 3000",
        "2026-03-01 10:00:26,001 INFO [decode.py:41] Done!",
        "the trainer finished. its warm-up",
        "Key: avg_reward, Value: 2.1",
        "Training completed. Do not forget to share your model on huggingface.co/models =)",
        "Finished training epoch 3",
        "Finished Training Epoch 3",
        "Training Complete for epoch 3",
        "Training Status: Complete",
        "TRAINING COMPLETENESS CHECK",
        "End training epoch 3",
        "Finished processing dataset",
        "when training is finished the model is saved",
        "raining completely",
        "14:06:40-973914 INFO     Training has ended.",
        "The trainer stops once it reaches max_steps",
        "Reached max steps (200), ending episode 14",
        "Reached max_steps without a solution",
        "第 3 轮训练完成",
        "Epoch 2 训练结束",
        "训练完成后模型会保存到 out/",
        "训练完成度: 35%",
        "训练模型完成后再评估",
        "第 2 折模型训练完成",
        "Época 3: entrenamiento finalizado",
        "Entraînement complet du modèle dans 3 heures",
    ],
)
def test_what_resembles_an_end_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("Training complete " + text))


def test_detectron2_sums_up_its_times_after_an_exception_too():
    total = "[01/02 03:04:05 d2.engine.hooks]: Total training time: 0:00:40 (0:00:01 on hooks)\n"
    assert [r.name for r in parse(total)] == ["completed"]
    assert parse("ERROR [01/02 03:04:05 d2.engine.train_loop]: Exception during training:\n" + total) == []
