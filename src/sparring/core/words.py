"""What settings are called in other libraries (CleanRL, Stable-Baselines3, RLlib, on-policy), and what is near a name.

Flags, files of settings and Python all answer a name they do not know from here.
"""

from collections.abc import Iterable

from sparring.core.names import near_names

NEAR = 0.75
"""Names less alike than this are not suggested: a wrong guess costs more than none."""

_CALLED = {
    "learning_rate": "lr anneal_lr lr_schedule use_linear_lr_decay",
    "actor_rate": "actor_lr",
    "critic_rate": "critic_lr",
    "discount": "gamma",
    "decay": "gae_lambda lambda lambda_ lam gae use_gae",
    "worlds": "num_envs n_envs n_rollout_threads",
    "num_workers": "num_env_runners",
    "envs_per_worker": "num_envs_per_worker num_envs_per_env_runner",
    "steps": "num_steps n_steps episode_length rollout_fragment_length rollout_length horizon",
    "total_steps": "total_timesteps num_env_steps timesteps timesteps_total",
    "entropy": "ent_coef entropy_coef entropy_coeff",
    "value_weight": "vf_coef value_loss_coef vf_loss_coeff value_coef",
    "clip": "clip_coef clip_range clip_param clip_eps clip_epsilon",
    "value_clip": "clip_vloss clip_range_vf vf_clip_param use_clipped_value_loss",
    "epochs": "update_epochs n_epochs ppo_epoch ppo_epochs num_epochs num_sgd_iter",
    "minibatches": "num_minibatches num_mini_batch batch_size minibatch_size mini_batch_size sgd_minibatch_size "
    "train_batch_size",
    "normalise_advantage": "norm_adv normalize_advantage standardize_advantages",
    "normalise": "norm_obs normalize_obs use_feature_normalization observation_filter",
    "reward_scale": "norm_reward normalize_reward",
    "value_norm": "use_popart use_valuenorm popart",
    "value_loss": "use_huber_loss",
    "huber_delta": "huber_loss_delta",
    "adam_eps": "opti_eps adam_epsilon",
    "max_grad_norm": "grad_clip clip_grad_norm",
    "optimiser": "optimizer optim",
    "hidden": "hidden_size hidden_sizes hidden_dim fcnet_hiddens net_arch layer_n",
    "memory": "lstm gru rnn recurrent use_lstm use_recurrent_policy use_naive_recurrent_policy",
    "memory_size": "lstm_cell_size lstm_hidden_size rnn_hidden_size",
    "sequence": "data_chunk_length max_seq_len seq_len",
    "critic": "use_centralized_v centralized_critic",
    "hyper": "hypernetwork hypernet use_hypernetwork",
    "hyper_rate": "hyper_lr",
    "smooth": "smooth_weight use_smooth_regularizer",
    "anchor": "align_weight use_align_regularizer",
    "shadow_every": "target_sync_every_updates target_update_interval",
    "policy_gain": "gain",
    "share": "share_policy policy_mapping_fn",
    "game": "env env_id env_name scenario scenario_name map_name",
    "options": "env_kwargs env_config num_agents n_agents",
    "eval_every": "eval_freq eval_interval evaluation_interval use_eval",
    "eval_games": "n_eval_episodes eval_episodes evaluation_duration",
    "checkpoint_every": "save_freq save_interval checkpoint_freq checkpoint_frequency",
    "device": "cuda gpu use_gpu num_gpus",
    "threads": "n_training_threads num_threads torch_threads",
    "preset": "algo algorithm algorithm_name",
    "name": "exp_name experiment_name run_name",
    "runs": "log_dir logdir run_dir output_dir storage_path",
    "from_": "model_dir load_model restore",
    "quiet": "verbose",
    "track": "wandb use_wandb tensorboard tensorboard_log",
}
"""The name here, and those of others."""
_OURS = {theirs: ours for ours, names in _CALLED.items() for theirs in names.split()}
_REMARKS = {
    **dict.fromkeys(("anneal_lr", "lr_schedule", "use_linear_lr_decay"), "with a schedule such as '3e-4 -> 0'"),
    **dict.fromkeys(
        ("batch_size", "minibatch_size", "mini_batch_size", "sgd_minibatch_size", "train_batch_size"),
        "the number of parts that a rollout (worlds x steps) is split into",
    ),
    **dict.fromkeys(("lstm", "use_lstm"), "with the value lstm"),
    **dict.fromkeys(("gru", "rnn", "recurrent", "use_recurrent_policy"), "with the value gru or lstm"),
    **dict.fromkeys(("use_centralized_v", "centralized_critic"), "with the value central"),
    **dict.fromkeys(("use_popart", "popart"), "with the value popart"),
    "use_valuenorm": "with the value running",
    **dict.fromkeys(("hypernetwork", "hypernet", "use_hypernetwork"), "with the value residual"),
    **dict.fromkeys(("use_smooth_regularizer", "use_align_regularizer"), "with its weight; 0 is off"),
    "use_huber_loss": "with the value huber",
    **dict.fromkeys(("cuda", "gpu", "use_gpu"), "with the value gpu"),
    "verbose": "the other way round",
    **dict.fromkeys(("wandb", "use_wandb"), "with the value wandb"),
    **dict.fromkeys(("tensorboard", "tensorboard_log"), "with the value tensorboard"),
}
"""What else is to be known of some of them."""
_NOT_HERE = {
    "wandb_project_name wandb_entity": "Nothing is sent anywhere: --track wandb keeps a run in its folder, and "
    "wandb sync asks for project and entity",
    "capture_video render use_render save_gifs": "Games are drawn afterwards: sparring replay RUN",
    "seed_everything torch_deterministic cuda_deterministic": "A run repeats itself by its seed as it is",
}
_ANSWERS = {name: answer for names, answer in _NOT_HERE.items() for name in names.split()}
FLAGS = (
    "preset",
    "self_play",
    "recipe",
    "config",
    "name",
    "runs",
    "force",
    "quiet",
    "track",
    "json",
    "device",
    "threads",
)
"""Flags of training that are no settings of a run, and so in no file of them."""


def called_here(name: str) -> tuple[str, str]:
    """What another library's name is called here, and a remark; both empty where it is not known."""
    plain = name.replace("-", "_").lower().removeprefix("no_")
    return _OURS.get(plain, ""), _REMARKS.get(plain, "")


def not_here(name: str) -> str:
    """The answer to a name of something that is done in another way here, or nothing."""
    return _ANSWERS.get(name.replace("-", "_").lower(), "")


def nearest(name: str, known: Iterable[str]) -> str:
    """The one of the known names that was probably meant; empty where none is near."""
    return next(iter(near_names(name, known, cutoff=NEAR)), "")
