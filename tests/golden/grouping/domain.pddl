(define (domain operator-grouping)
  (:requirements :typing :equality :action-costs)
  (:types operator image moment)
  (:predicates
    (now ?t - moment)
    (next ?t ?then - moment)
    (places ?t - moment ?o - operator)
    (links ?t - moment ?from ?to - operator)
    (runs ?i - image ?o - operator)
    (unused ?i - image)
    (used ?i - image)
    (in ?o - operator ?i - image))
  (:functions
    (group-cost ?i - image) - number
    (intra-cost ?from ?to - operator) - number
    (inter-cost ?from ?to - operator) - number
    (total-cost) - number)

  (:action open-group
    :parameters (?i - image)
    :precondition (unused ?i)
    :effect (and (not (unused ?i)) (used ?i) (increase (total-cost) (group-cost ?i))))

  (:action put-operator
    :parameters (?t ?then - moment ?o - operator ?i - image)
    :precondition (and (now ?t) (next ?t ?then) (places ?t ?o) (used ?i) (runs ?i ?o))
    :effect (and (not (now ?t)) (now ?then) (in ?o ?i)))

  (:action link-inside
    :parameters (?t ?then - moment ?from ?to - operator ?i - image)
    :precondition (and (now ?t) (next ?t ?then) (links ?t ?from ?to) (in ?from ?i) (in ?to ?i))
    :effect (and (not (now ?t)) (now ?then) (increase (total-cost) (intra-cost ?from ?to))))

  (:action link-across
    :parameters (?t ?then - moment ?from ?to - operator ?i ?j - image)
    :precondition (and (now ?t) (next ?t ?then) (links ?t ?from ?to) (in ?from ?i) (in ?to ?j)
      (not (= ?i ?j)))
    :effect (and (not (now ?t)) (now ?then) (increase (total-cost) (inter-cost ?from ?to))))
)
